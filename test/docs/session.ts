/**
 * A reader at work: the commands of a page, typed one after another in an empty directory.
 *
 * `whetstone` runs in this process, on the sources as they are; other commands in a shell. A `cat` of a file that is not there yet is how pages
 * show what to write into it: the file is written. A `cat` of one that is there has to show what is in it.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect } from 'vitest'
import { cli } from '../support/cli.js'
import type { Command } from './blocks.js'

/** Options that make a training of a page small, by verb: what `--set` takes. */
export type Smaller = Readonly<Record<string, readonly string[]>>

const isWhetstone = /^(npx )?whetstone /

/** Types one command, and expects that it succeeds. Resolves to what it printed. */
export async function type({ line, shown }: Command, smaller: Smaller): Promise<string> {
  const file = /^cat (\S+)$/.exec(line)?.[1]
  if (file !== undefined) return showFile(file, shown)
  if (!isWhetstone.test(line)) return execFileSync('bash', ['-euc', line], { encoding: 'utf8' })
  // The shell takes away quotes and comments, and finds the files of patterns.
  const words = execFileSync('bash', ['-uc', `printf '%s\\0' ${line.replace(/^npx /, '')}`], { encoding: 'utf8' })
  const args = words.split('\0').slice(1, -1)
  const settings = args.includes('--config') || args.includes('--model') ? (smaller[args[0]!] ?? []) : []
  // A verb that asks something gets these lines.
  const input = 'What is 2 + 2?\n/quit\n'
  const { code, output } = await cli([...args, ...settings.map(one => `--${one}`)], { input })
  expect(code, `${line}\n${output}`).toBe(0)
  return output
}

function showFile(file: string, shown: string): string {
  if (existsSync(file)) expect(readFileSync(file, 'utf8'), `cat ${file}`).toBe(shown)
  else {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, shown)
  }
  return shown
}
