// Reads what packed() in __init__.py wrote: a header in JSON, then arrays as they lie in memory.

const TYPES = { uint8: Uint8Array, float32: Float32Array, int32: Int32Array }

export function unpack(buffer) {
  const length = new DataView(buffer).getUint32(0, true)
  const start = 8 * Math.ceil((4 + length) / 8)
  const text = new TextDecoder().decode(new Uint8Array(buffer, 4, length))
  return JSON.parse(text, (name, value) => {
    const place = value?.$array
    if (!place) return value
    const cells = place.shape.reduce((product, side) => product * side, 1)
    return new TYPES[place.dtype](buffer, start + place.offset, cells)
  })
}
