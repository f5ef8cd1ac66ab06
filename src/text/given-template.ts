/** A chat template that is named, in place of the one that a tokenizer directory has. */
import { readFile } from 'node:fs/promises'
import { systemProblem } from '../errors/index.js'
import { chatmlFor, END_TOKEN } from './chatml.js'
import { ChatTemplateError } from './errors.js'
import type { Tokenizer } from './tokenizer.js'
import type { TemplateFile } from './tokenizer-files.js'

/** Values of `chatTemplate` that name no file. */
export const chatTemplateWords = ['auto', 'none', 'chatml'] as const

/** What is left of `chatTemplate` where a tokenizer is loaded already: whether text prompts are user turns. */
export const templateUse = (chatTemplate: string): 'auto' | 'none' => (chatTemplate === 'none' ? 'none' : 'auto')

/** The template for a tokenizer whose special tokens are known; `firstId`: what it puts before a text itself. */
type GivenTemplate = (tokenizer: Tokenizer, firstId: number | undefined) => TemplateFile

/** What `chatTemplate` names; undefined where the tokenizer's own is meant. */
export async function givenTemplate(name: string | undefined): Promise<GivenTemplate | undefined> {
  if (name === undefined || name === 'auto' || name === 'none') return undefined
  if (name === 'chatml') return chatml
  const source = await readFile(name, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    const why = cause.code === 'ENOENT' ? 'there is no such file' : systemProblem(cause, 'read')
    throw new ChatTemplateError(`chatTemplate: ${name}: ${why}; expected auto, none, chatml or a Jinja file`, {
      cause,
    })
  })
  return () => ({ source, path: `chatTemplate: ${name}` })
}

function chatml(tokenizer: Tokenizer, firstId: number | undefined): TemplateFile {
  const hasEnd = tokenizer.idOf(END_TOKEN) !== undefined
  if (!hasEnd && !tokenizer.specialTokens.has('eos_token'))
    throw new ChatTemplateError(
      `chatTemplate: ${tokenizer.dir} has neither ${END_TOKEN} nor an eos_token, and chatml needs one to end a turn; give a Jinja file`,
    )
  const addsBos = firstId !== undefined && firstId === tokenizer.bosId
  return { source: chatmlFor({ hasEnd, addsBos }), path: 'chatTemplate: chatml' }
}
