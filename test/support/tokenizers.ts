import { readFileSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ChatMessage } from '../../src/text/index.js'
import { atEnd } from './at-end.js'

export const FIXTURE = fileURLToPath(new URL('../fixtures/tokenizer', import.meta.url))

interface Golden {
  encode: { text: string; ids: number[]; decoded: string; decoded_skip_special: string }[]
  chat: { messages: ChatMessage[]; add_generation_prompt: boolean; text: string }[]
}

interface Oracle {
  masks: {
    name: string
    template: string
    messages: ChatMessage[]
    text: string
    ids: number[]
    assistantMask: number[]
  }[]
  renders: {
    name: string
    template: string
    messages: ChatMessage[]
    options: Record<string, unknown>
    text: string
  }[]
  discovery: {
    name: string
    config: object
    specialTokensMap: object | null
    bos: number | null
    eos: number | null
    pad: number | null
    vocabSize: number
    allSpecialIds: number[]
    named: Record<string, string>
    probe: string
    ids: number[]
    decodedSkipSpecial: string
  }[]
  cleanUp: {
    tokenizer: object | null
    config: object
    text: string
    ids: number[]
    bareIds: number[]
    decoded: string
    decodedSkipSpecial: string
    pad: number | null
  }[]
}

const read = (name: string): unknown => JSON.parse(readFileSync(join(FIXTURE, name), 'utf8'))
export const golden = read('case.json') as Golden
/** What transformers 5.17 answers; written by make_oracle.py. */
export const oracle = read('oracle.json') as Oracle

/** An empty directory that goes away with the test file that asked for it. */
export async function temporaryDirectory(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'whetstone-text-'))
  atEnd(() => rm(dir, { recursive: true }))
  return dir
}

/** A directory with the fixture's `tokenizer.json` and these other files; objects are written as JSON. */
export async function tokenizerDirectory(files: Record<string, object | string>): Promise<string> {
  const dir = await temporaryDirectory()
  await copyFile(join(FIXTURE, 'tokenizer.json'), join(dir, 'tokenizer.json'))
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(dir, name)), { recursive: true })
    await writeFile(join(dir, name), typeof content === 'string' ? content : JSON.stringify(content))
  }
  return dir
}

/** A file of Jinja. */
export async function templateFile(source: string): Promise<string> {
  const file = join(await temporaryDirectory(), 'template.jinja')
  await writeFile(file, source)
  return file
}
