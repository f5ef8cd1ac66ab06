/** What runs say about themselves. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { silentReport } from '../../src/progress/index.js'
import { Run } from '../../src/run/index.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

export interface Said {
  /** Diagnoses, in their order. */
  readonly ids: readonly string[]
  readonly messages: readonly string[]
}

/** What a run has logged. Every diagnosis names a page that exists. */
export async function saidIn(directory: string): Promise<Said> {
  const { events } = await Run.read(directory)
  const said = events.filter(({ kind, diagnosis }) => kind === 'warning' && diagnosis !== undefined)
  for (const { message, page } of said) {
    const [file] = String(page).split('#')
    expect(String(message)).toContain(`Read ${page}.`)
    expect(existsSync(join(root, file!)) && readFileSync(join(root, file!), 'utf8').length).toBeGreaterThan(0)
  }
  return { ids: said.map(({ diagnosis }) => String(diagnosis)), messages: said.map(({ message }) => String(message)) }
}

/** A report that keeps the lines that a person reads. */
export function readingReport() {
  const lines: string[] = []
  const keep = (text: string): void => void lines.push(text)
  return { lines, report: { ...silentReport, line: keep, warn: keep } }
}
