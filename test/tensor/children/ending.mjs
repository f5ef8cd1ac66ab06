// How a process ends while a program runs.   node ending.mjs INDEX exit|now|throw|pending
import { pathToFileURL } from 'node:url'

const { randn, record, zeros } = await import(pathToFileURL(process.argv[2]).href)
const steps = process.argv[3] === 'pending' ? 30 : 2000
const program = record(['tensor'], x => {
  let y = x
  for (let i = 0; i < steps; i++) y = y.matmul(x).tanh()
  return y
})
const running = program.run(randn([400, 400]))
// More behind it, which will never start.
for (let i = 0; i < 3 && steps > 30; i++) program.run(randn([400, 400]))

switch (process.argv[3]) {
  case 'exit':
    setTimeout(() => process.exit(7), 30)
    break
  case 'now':
    process.exit(7)
    break
  case 'throw':
    setTimeout(() => {
      throw new Error('uncaught')
    }, 30)
    break
  case 'pending':
    // Nothing else keeps the process alive: the pending run does.
    running.then(result => {
      zeros([1])
      console.log(`settled ${result.shape}`)
    })
    break
}
