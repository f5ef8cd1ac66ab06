/**
 * How fast kernels, programs and graphs are on a CUDA device, beside Python's torch where there is one. That they are right is
 * what `npm run test:cuda` shows.
 *
 *   npm run bench:cuda                 both parts
 *   npm run bench:cuda -- bandwidth    one of bandwidth, decode
 *   npm run bench:cuda -- --check      exit code 1 when a promise is not kept
 *
 * WHETSTONE_PEER_PYTHON names the Python to compare with.
 */
import { backend } from 'whetstone/tensor'
import { run as bandwidth } from './bandwidth.mjs'
import { run as decode } from './decode.mjs'

/** @type {Record<string, () => Promise<boolean>>} */
const parts = { bandwidth, decode }
const given = process.argv.slice(2)
const unknown = given.filter(word => word !== '--check' && !(word in parts))
if (unknown.length > 0) {
  console.error(`unknown part ${unknown.join(', ')}; there are ${Object.keys(parts).join(', ')}`)
  process.exit(2)
}
const { libtorchVersion, cuda } = backend()
if (!cuda.available) {
  console.error('this libtorch sees no CUDA device')
  process.exit(2)
}
const [device] = cuda.devices
console.log(
  `Node ${process.versions.node}, libtorch ${libtorchVersion}, ${device?.name}, capability ${device?.capability}, graphs ${cuda.graphs ? 'built' : 'not built'}`,
)

const wanted = given.filter(word => word !== '--check')
let kept = true
for (const part of wanted.length > 0 ? wanted : Object.keys(parts)) {
  console.log(`\n## ${part}\n`)
  const all = await parts[part]()
  kept &&= all
}
console.log(kept ? '\nall promises kept' : '\na promise is not kept')
process.exitCode = given.includes('--check') && !kept ? 1 : 0
