/** Runs one script in QuickJS and tells what it said. The thread is ended from outside if the script does not end. */
import { parentPort, workerData } from 'node:worker_threads'
import { getQuickJS } from 'quickjs-emscripten'

const { code, limits } = workerData
const runtime = (await getQuickJS()).newRuntime()
runtime.setMemoryLimit(limits.bytes)
runtime.setMaxStackSize(limits.stackBytes)
parentPort.postMessage('ready')
const end = performance.now() + limits.milliseconds
runtime.setInterruptHandler(() => performance.now() > end)
const context = runtime.newContext()
const lines = []
let left = limits.characters

const log = context.newFunction('log', (...values) => {
  if (left <= 0) return
  const line = values.map(textOf).join(' ').slice(0, left)
  lines.push(line)
  left -= line.length + 1
})
const console = context.newObject()
context.setProp(console, 'log', log)
context.setProp(context.global, 'console', console)

const result = context.evalCode(code, 'script.js')
const last = textOf(result.error ?? result.value)
const said = result.error ? `Error: ${last}` : last
const content = [...lines, ...(said === 'undefined' ? [] : [said])].join('\n')
parentPort.postMessage({ content: content || 'undefined', ...(result.error ? { isError: true } : {}) })

function textOf(handle) {
  const kind = context.typeof(handle)
  if (kind === 'string') return context.getString(handle).slice(0, limits.characters)
  if (kind !== 'object') return String(kind === 'function' || kind === 'symbol' ? `[${kind}]` : context.dump(handle))
  const value = context.dump(handle)
  const isError = typeof value === 'object' && value !== null && 'message' in value && 'name' in value
  if (isError) return `${value.name}: ${value.message}`.slice(0, limits.characters)
  return String(typeof value === 'string' ? value : JSON.stringify(value)).slice(0, limits.characters)
}
