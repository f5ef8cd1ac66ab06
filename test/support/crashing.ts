import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Ended } from './compiled.js'

const preload = fileURLToPath(new URL('./crash-points.mjs', import.meta.url))

/** Runs a script with the numbered points of children/crash-points.mjs; `env` says at which it dies. */
export function runCrashing(
  script: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Ended> {
  return new Promise(resolve => {
    const child = spawn(process.execPath, ['--import', preload, script, ...args], { env: { ...process.env, ...env } })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', chunk => {
        output += chunk
      })
    child.on('close', (code, signal) => resolve({ code, signal, output }))
  })
}
