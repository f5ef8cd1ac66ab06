/** The code blocks of the documentation, as they stand on their pages. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../..', import.meta.url))

/** README.md and every page of docs/. */
export const pages: readonly string[] = [
  'README.md',
  ...readdirSync(join(root, 'docs'))
    .filter(name => name.endsWith('.md'))
    .sort()
    .map(name => `docs/${name}`),
]

export const pageText = (page: string): string => readFileSync(join(root, page), 'utf8')

export interface Block {
  readonly page: string
  readonly line: number
  /** What stands behind the fence: `ts`, `jsonl prompts`, or nothing. */
  readonly info: string
  readonly code: string
}

const fences = /^(?<indent> *)```(?<info>[^\n]*)\n(?<code>.*?)^\k<indent>```$/gms

export function blocksOf(page: string): Block[] {
  const text = pageText(page)
  return [...text.matchAll(fences)].map(({ groups, index }) => ({
    page,
    line: text.slice(0, index).split('\n').length,
    info: groups!.info!,
    code: groups!.code!.replaceAll(new RegExp(`^${groups!.indent!}`, 'gm'), ''),
  }))
}

/** What the block is listed by: its first line. */
export const firstLine = ({ code }: Block): string => code.split('\n')[0]!

export interface Command {
  readonly line: string
  /** The lines the page shows below it. */
  readonly shown: string
}

/** What a reader would type: every line of a script, or those behind a `$`. A backslash at the end of a line goes on. */
export function commandsOf({ info, code }: Block): Command[] {
  const joined = code.replaceAll(/\\\n\s*/g, '')
  if (info !== 'console')
    return joined
      .split('\n')
      .filter(line => line.trim() !== '')
      .map(line => ({ line, shown: '' }))
  return joined
    .split(/^\$ /m)
    .slice(1)
    .map(part => {
      const end = part.indexOf('\n')
      return { line: part.slice(0, end), shown: part.slice(end + 1) }
    })
}
