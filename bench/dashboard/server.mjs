/** What the parts of this bench share: commands, a server, questions to it, and lines of results. */
import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { root } from '../harness.mjs'

const binary = join(root, 'install/whetstone.mjs')

/** @param {readonly string[]} args */
export function whetstone(args) {
  const { status, stderr } = spawnSync(process.execPath, [binary, ...args], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`whetstone ${args.join(' ')}: ${stderr}`)
}

/**
 * A command that goes on.
 *
 * @param {readonly string[]} args
 * @param {{ within?: readonly string[], stdout?: 'ignore' | 'pipe', env?: NodeJS.ProcessEnv }} options `within`: a command that starts it,
 *   such as `taskset -c 0`
 */
export function startWhetstone(args, { within = [], stdout = 'ignore', env = process.env } = {}) {
  const [command, ...rest] = [...within, process.execPath, binary, ...args]
  return spawn(command, rest, { stdio: ['ignore', stdout, stdout === 'ignore' ? 'ignore' : 'inherit'], env })
}

/** @typedef {{ child: import('node:child_process').ChildProcess, url: string, token: string }} Server */

/**
 * @param {string} runs
 * @param {readonly string[]} within
 * @returns {Promise<Server>}
 */
export function startServer(runs, within = []) {
  const child = startWhetstone(['dashboard', runs, '--port', '0'], { within, stdout: 'pipe' })
  return new Promise((resolve, reject) => {
    child.on('exit', code => reject(new Error(`the dashboard ended with ${code}`)))
    createInterface({ input: /** @type {import('node:stream').Readable} */ (child.stdout) }).on('line', line => {
      const [, url, token] = /^(http:\S+)\/#token=(\S+)$/.exec(line) ?? []
      if (url && token) resolve({ child, url, token })
    })
  })
}

/**
 * @param {Server} server
 * @param {string} path
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function get({ url, token }, path, signal) {
  const answer = await fetch(url + path, { headers: { authorization: `Bearer ${token}` }, signal: signal ?? null })
  const body = /** @type {any} */ (await answer.json())
  if (!answer.ok) throw new Error(body.error)
  return body
}

/** @param {number} ms */
export function pause(ms) {
  return new Promise(resolve => setTimeout(resolve, ms))
}

/**
 * @param {string} name
 * @param {string} value
 */
export function row(name, value) {
  console.log(`${name.padEnd(58)} ${value}`)
}
