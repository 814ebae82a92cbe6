// The strongest pairs as a table: Python draws it under the controls.

export const table = {
  server: true,
  requests: (state) => [{ kind: state.kind, layer: state.layer, head: state.head }],
}
