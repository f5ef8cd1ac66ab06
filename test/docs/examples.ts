/**
 * The code blocks of the documentation as TypeScript modules that a compiler can check.
 *
 * - A page of Markdown is one module. Each block sees what the blocks before it declared, and may declare a name again. A block
 *   that exports something is a file a reader would save, and a module of its own.
 * - An example in a doc comment is a module. Names that a room of `src/` exports are imported from it, as an editor would.
 * - Names that stand for something the reader has ({@link context}) are declared for all.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

export interface Example {
  /** A file name for the module. */
  name: string
  code: string
}

/** What examples may take for granted. */
export const context = `
import type { Program, Tensor } from 'whetstone/tensor'
import type { LocalModel } from 'whetstone/model'
import type { ChatMessage, TokenIds, Tokenizer } from 'whetstone/text'
import type { Sample } from 'whetstone/rollout'
import type { RewardComputationEngine, RewardInput, RewardOutcome } from 'whetstone/reward'
import type { RolloutSample } from 'whetstone/maths'
import type { MultimodalDataProcessorOptions } from 'whetstone/experience'
declare global {
  const tokenizer: Tokenizer
  const policyTokenizer: Tokenizer
  const processor: MultimodalDataProcessorOptions['processor']
  const actor: LocalModel<'language'>
  const source: string
  const row: { messages: readonly ChatMessage[] }
  const completion: { token_ids: number[] }
  const prompts: TokenIds[]
  const config: object
  const step: number
  const parameters: Map<string, Tensor>
  const reference: LocalModel<'language'>
  const engine: RewardComputationEngine
  const program: Program<readonly ['tensor'], readonly [Tensor]>
  const n: number
  const x: Tensor
  const y: Tensor
  const w: Tensor
  const up: Tensor
  const down: Tensor
  const residual: Tensor
  const weight: Tensor
  const matrix: Tensor
  const logits: Tensor
  const mask: Tensor
  const loss: Tensor
  const weights: ReadonlyMap<string, Tensor>
  const norms: ReadonlyMap<string, Tensor>
  const a: Tensor
  const b: Tensor
  const inputs: RewardInput[]
  const samples: RewardInput[]
  const rollout: RolloutSample[]
  function score(sample: Sample): void
  function keep(input: RewardInput, outcome: RewardOutcome): void
}
`

const fences = /^(?<indent> *)```ts\n(?<code>.*?)^ *```$/gms
const importLine = /^import (?:type )?\{[^}]*\} from '[^']+'$|^import \w+ from '[^']+'$/gm

/** One module for the page, and one for each block that is a file of its own. */
export function pageExamples(root: string, page: string): Example[] {
  const text = readFileSync(join(root, page), 'utf8')
  const blocks = [...text.matchAll(fences)].map(({ groups, index }) => ({
    code: groups!.code!,
    place: `// ${page}:${text.slice(0, index).split('\n').length}\n`,
  }))
  const stem = basename(page, '.md')
  const alone = blocks.filter(({ code }) => /^export /m.test(code))
  const joined = blocks.filter(block => !alone.includes(block))
  return [
    { name: `${stem}.ts`, code: joinedModule(joined) },
    ...alone.map(({ code, place }, i) => ({ name: `${stem}-${i}.ts`, code: `${place}${code}` })),
  ]
}

/** Blocks one after another as one module: each sees what those before it declared. */
export function joinedModule(blocks: readonly { readonly code: string; readonly place: string }[]): string {
  const body = blocks.map(({ code, place }) => `{\n${place}${code.replace(importLine, '')}`).join('')
  return `${mergeImports(blocks.map(({ code }) => code))}${body}${'}\n'.repeat(blocks.length)}`
}

/** Blocks of a page import the same names again, each for a reader who starts there. */
function mergeImports(blocks: readonly string[]): string {
  const named = new Map<string, Set<string>>()
  const others = new Set<string>()
  for (const [line] of blocks.flatMap(code => [...code.matchAll(importLine)])) {
    const match = /^import (type )?\{([^}]*)\} from '([^']+)'$/.exec(line)
    if (!match) {
      others.add(line)
      continue
    }
    const [, type = '', names = '', from = ''] = match
    const known = named.get(from) ?? new Set()
    named.set(from, known)
    for (const name of names.split(',').map(one => one.trim())) if (name !== '') known.add(`${type}${name}`)
  }
  const lines = [...named].map(([from, names]) => `import { ${[...names].join(', ')} } from '${from}'`)
  return `${[...others, ...lines].join('\n')}\nexport {}\n`
}

/** The examples in the doc comments of `src/`. */
export function commentExamples(root: string): Example[] {
  const source = join(root, 'src')
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.ts'))
  const exported = exportedNames(source, files)
  return files.sort().flatMap(file => {
    if (file.endsWith('.generated.ts')) return []
    const text = readFileSync(join(source, file), 'utf8')
    return [...text.matchAll(/\/\*\*.*?\*\//gs)].flatMap(({ 0: comment, index }) => {
      const line = text.slice(0, index).split('\n').length
      return codeOf(comment).map((code, i) => ({
        name: `${file.replace(/\W/g, '-')}-${line}-${i}.ts`,
        code: `// src/${file}:${line}\n${importsFor(code, exported, file)}export {}\n${code}`,
      }))
    })
  })
}

function codeOf(comment: string): string[] {
  const text = comment
    .replace(/^\/\*\*|\*\/$/g, '')
    .split('\n')
    .map(line => line.replace(/^ *\* ?/, ''))
    .join('\n')
  const fenced = [...text.matchAll(fences)].map(({ groups }) => groups!.code!)
  const tagged = [...text.matchAll(/^@example(.*?)(?=^@|$(?![\s\S]))/gms)]
    .map(([, code]) => code!)
    .filter(code => !code.includes('```'))
  return [...fenced, ...tagged]
}

/** Where a name comes from: the file an example is in, or else the room that exports it. */
function exportedNames(source: string, files: readonly string[]): Map<string, string[]> {
  const found = new Map<string, string[]>()
  const declaration = /^export (?:async )?(?:abstract )?(?:function\*?|class|const|interface|type|enum) (\w+)/gm
  for (const file of files)
    for (const [, name] of readFileSync(join(source, file), 'utf8').matchAll(declaration))
      found.set(name!, [...(found.get(name!) ?? []), join(source, file)])
  found.set('z', ['zod'])
  found.set('join', ['node:path'])
  found.set('writeFile', ['node:fs/promises'])
  return found
}

function importsFor(code: string, exported: ReadonlyMap<string, string[]>, file: string): string {
  const own = new Set<string>()
  const bindings = code.matchAll(/\b(?:const|let|function|class) (\{[^}]*\}|\[[^\]]*\]|\w+)/g)
  for (const [, binding] of bindings) for (const [name] of binding!.matchAll(/\w+/g)) own.add(name)
  for (const [line] of code.matchAll(importLine)) for (const [name] of line.matchAll(/\w+/g)) own.add(name)
  // Not after a dot, unless it is the last of three.
  const names = code.replace(/'[^'\n]*'/g, '').matchAll(/(?<!\w|(?<!\.\.)\.)[A-Za-z]\w*/g)
  const used = new Set([...names].map(([name]) => name))
  return [...used]
    .filter(name => !own.has(name) && exported.has(name) && !taken.has(name))
    .map(name => {
      const places = exported.get(name)!
      const place = places.find(one => one.endsWith(`/src/${file}`)) ?? places[0]!
      return `import { ${name} } from '${place}'\n`
    })
    .join('')
}

/** Names of the context, which a function of some room shares. */
const taken = new Set([...context.matchAll(/^ {2}(?:const|function) (\w+)/gm)].map(([, name]) => name))
