// A server as vLLM's and SGLang's behave at the edges of their lives, for tests of how they are started and ended. It prints its
// arguments and its environment to the log; FAKE says how it behaves.
import { spawn } from 'node:child_process'
import { createServer } from 'node:http'

const args = process.argv.slice(2)
const fake = process.env.FAKE ?? ''
const has = word => fake.split(',').includes(word)
const value = name => args[args.indexOf(name) + 1]
console.log(`arguments ${JSON.stringify(args)}`)
const names = ['VLLM_SERVER_DEV_MODE', 'VLLM_API_KEY', 'HF_HUB_OFFLINE', 'TMPDIR', 'OWN']
console.log(`environment ${JSON.stringify(Object.fromEntries(names.map(name => [name, process.env[name]])))}`)

if (has('old')) {
  console.error('vllm: error: unrecognized arguments: --enable-scale-out')
  process.exit(2)
}
if (has('tells')) console.log(`server_args={'host': '127.0.0.1', 'api_key': '${process.env.VLLM_API_KEY}'}`)
if (has('dies')) {
  for (let line = 0; line < 100; line++) console.error(`line ${line}`)
  console.error('\x1b[31mRuntimeError: no kernel image\x1b[0m')
  process.exit(3)
}
// As engines have workers, which do not end by themselves.
const worker = spawn(process.execPath, ['-e', 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000)'])
console.log(`worker ${worker.pid}`)
if (has('stubborn')) process.on('SIGTERM', () => console.log('no'))
else process.on('SIGTERM', () => process.exit(0))

const ready = has('never') ? Number.POSITIVE_INFINITY : Date.now() + 400
createServer((request, response) => {
  const key = process.env.VLLM_API_KEY
  const known = key === undefined || request.headers.authorization === `Bearer ${key}`
  const path = ['/health', '/ready'].includes(request.url)
  response.writeHead(!known ? 401 : !path ? 404 : Date.now() < ready ? 503 : 200).end()
}).listen(Number(value('--port')), value('--host'))
