// Two copies of the bridge in one process: the second is refused, and the first goes on.
//
//   node single-load.mjs INDEX SECOND
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const [, , index, second] = process.argv
const { Tensor, linear } = await import(pathToFileURL(index).href)
const x = Tensor.from(Float32Array.of(1, 2), { shape: [1, 2] })
try {
  createRequire(import.meta.url)(second)
  console.log('opened')
} catch (error) {
  console.log(`refused: ${error.message}`)
}
console.log(`still ${linear(x, x, null).item()}`)
