// Begins a supervised training, or goes on with it.   node supervised-run.mjs INDEX sft|reward|preference CONFIG
import { pathToFileURL } from 'node:url'

const [, , index, command, config] = process.argv
const { trainings } = await import(pathToFileURL(index).href)
const { run } = trainings[command]
const report = {
  line() {},
  transfer: () => ({ at() {}, end() {} }),
  // A step is logged when it is done.
  live: () => ({ show: () => globalThis.crashPoint?.('step'), doing() {}, end() {} }),
}
const { signal } = new AbortController()
await run({ config: JSON.parse(config), origins: {}, resume: true, allowChange: [], report, signal })
