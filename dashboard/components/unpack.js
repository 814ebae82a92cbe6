// Reads what packed() wrote: a header whose arrays stand behind it as bytes.
const ARRAYS = { float32: Float32Array, uint8: Uint8Array }

function unpack(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  const length = view.getUint32(0, true)
  const text = new TextDecoder().decode(bytes.subarray(4, 4 + length))
  // A copy, so that every array starts at a multiple of 8 wherever the message put the buffer.
  const content = bytes.slice(Math.ceil((4 + length) / 8) * 8).buffer
  return JSON.parse(text, (_, value) => {
    if (!value || !value.$array) return value
    const { dtype, shape, offset } = value.$array
    const Type = ARRAYS[dtype]
    const flat = new Type(content, offset, shape.reduce((a, b) => a * b, 1))
    if (shape.length !== 2) return flat
    const [rows, columns] = shape
    return Array.from({ length: rows }, (_, row) => flat.subarray(row * columns, (row + 1) * columns))
  })
}

