/**
 * Everything that only a CUDA device can show: that the kernels are right and fast, that programs and graphs are, beside
 * Python's torch on the same device where there is one.
 *
 *   npm run bench:cuda                        all of it
 *   npm run bench:cuda -- kernels bandwidth   parts: device, kernels, model, rollout, bandwidth, decode
 *   npm run bench:cuda -- --check             exit code 1 also when a promise about speed is not kept
 *
 * WHETSTONE_PEER_PYTHON names the Python to compare with.
 */
import { backend } from '../../dist/tensor/index.js'

const parts = ['device', 'kernels', 'model', 'rollout', 'bandwidth', 'decode']
const given = process.argv.slice(2)
const unknown = given.filter(word => word !== '--check' && !parts.includes(word))
if (unknown.length > 0) {
  console.error(`unknown part ${unknown.join(', ')}; there are ${parts.join(', ')}`)
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
let right = true
let kept = true
for (const part of wanted.length > 0 ? wanted : parts) {
  console.log(`\n## ${part}\n`)
  const { run } = await import(`./${part}.mjs`)
  const result = await run()
  right &&= result.right
  kept &&= result.kept
}
console.log(
  `\n${right ? 'all checks passed' : 'A CHECK FAILED'}; ${kept ? 'all promises kept' : 'a promise is not kept'}`,
)
process.exitCode = !right || (given.includes('--check') && !kept) ? 1 : 0
