// Ends this process, without a chance to clean up, before the call number `at` of one of these functions of the file system.
// To be called before the module that uses them is imported.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

export function killAt(at, names) {
  let calls = 0
  for (const name of names) {
    const original = fs.promises[name]
    fs.promises[name] = (...args) => {
      if (++calls === at) {
        process.kill(process.pid, 'SIGKILL')
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60_000)
      }
      return original(...args)
    }
  }
  syncBuiltinESMExports()
}
