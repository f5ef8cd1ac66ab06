import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import {
  type DataOptions,
  dataOptionsSchema,
  type Inspection,
  inspectData,
  type RenderedPart,
  type RenderedRow,
} from '../data/index.js'
import { processorFiles } from '../files/index.js'
import { MultimodalProcessor } from '../model/index.js'
import { bytesText, count, numberText, reportFor } from '../progress/index.js'
import { type LocateOptions, locateData, locateModel } from '../source/index.js'
import { Tokenizer } from '../text/index.js'
import { promptTemplateFlag } from './chat-template-flag.js'
import { columnsFlag, readColumns } from './columns-flag.js'
import { choice, directory, flagHelp, integer, readArguments, text, UsageError } from './flags.js'
import { interruptible } from './interrupt.js'

const flags = z.object({
  model: directory('a model or tokenizer directory: lengths and rows are shown in its tokens').optional(),
  kind: choice(
    ['conversations', 'preferences', 'labelled', 'prompts'],
    'KIND',
    'conversations, preferences, labelled or prompts (default: detected from the first rows)',
  ).optional(),
  columns: columnsFlag,
  systemPrompt: text('TEXT', 'system message for conversations without one').optional(),
  promptTemplate: text('TEXT', 'template of a prompt, such as "Question: {prompt}"').optional(),
  chatTemplate: promptTemplateFlag,
  trainOn: choice(
    ['assistant', 'all'],
    'WHAT',
    'trained tokens of a conversation: those of the assistant, or all',
  ).default('assistant'),
  maxLength: integer('most tokens of an example; longer ones are shown as training would use them', {
    min: 2,
  }).optional(),
  rows: integer('number of rows to show', { min: 0, max: 1000 }).default(3),
})

export const help = `Usage: whetstone data inspect FILE... [options]

Reads data as a training does, and shows what it contains: kind and format, rows, bad rows by reason and with line numbers, what
each column is used as, lengths of examples, and some examples with the trained tokens marked. A FILE is one of

  a file           .jsonl, .json, .csv, .tsv, .txt (also with .gz or .zst), .parquet or .arrow
  a glob pattern   in quotes, such as 'chats/*.jsonl'
  a folder         of save_to_disk, or as on the Hub; FOLDER:SPLIT, FOLDER:CONFIG or FOLDER:CONFIG/SPLIT selects a part

${flagHelp(flags)}

Exit code 0 if every row can be used, 1 if a row cannot.
`

export async function run(args: string[]): Promise<number> {
  const [action, ...rest] = args
  if (action !== 'inspect')
    throw new UsageError(
      action && !action.startsWith('-')
        ? `data: unknown action "${action}"; there is: inspect`
        : 'expected an action: inspect',
    )
  const { flags: given, positionals } = readArguments(rest, flags, { positionals: 'keep' })
  if (positionals.length === 0) throw new UsageError('expected a file or a folder to inspect')
  const { model, kind, columns: pairs, rows, ...options } = given
  const columns = readColumns(pairs)
  const report = reportFor(process.env)
  const progress = report.transfer('looking', count('examples', 10_000))
  return interruptible({
    work: async signal => {
      const tokenizer = model === undefined ? undefined : await loadTokenizer(model, options, { report, signal })
      const paths: string[] = []
      for (const name of positionals) {
        const { path, origin } = await locateData(name, { report, signal })
        // As it was given: messages show it.
        paths.push(origin.kind === 'path' ? name : path)
      }
      const inspection = await inspectData(
        paths.map(path => ({ path, columns })),
        {
          ...readOptions(options),
          baseDirectory: process.cwd(),
          rendered: rows,
          signal,
          onProgress: (done, total) => progress.at(done, total),
          ...(kind === undefined ? {} : { kind }),
          ...(tokenizer === undefined ? {} : { tokenizer, processor: await processorOf(tokenizer) }),
        },
      ).finally(() => progress.end())
      process.stdout.write(describe(inspection, markerFor(process.stdout)))
      return inspection.rows > 0 && wrongRows(inspection) === 0 ? 0 : 1
    },
    onInterrupt: () => report.line('Interrupted.'),
  })
}

async function loadTokenizer(
  name: string,
  { chatTemplate }: Pick<DataOptions, 'chatTemplate'>,
  around: LocateOptions,
): Promise<Tokenizer> {
  const { directory } = await locateModel(name, { ...around, wanted: 'tokenizer' })
  return Tokenizer.load(directory, { chatTemplate })
}

/** Images and videos are opened where the directory has what reads them. */
async function processorOf(tokenizer: Tokenizer): Promise<MultimodalProcessor | undefined> {
  const { dir } = tokenizer
  if (!processorFiles.some(name => existsSync(join(dir, name)))) return undefined
  return MultimodalProcessor.load(dir, { encode: text => tokenizer.encode(text, { addSpecialTokens: false }) })
}

function readOptions(given: Record<string, unknown>): DataOptions {
  const result = dataOptionsSchema.safeParse(given)
  if (result.success) return result.data
  throw new UsageError(result.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('\n'))
}

/** Rows that are skipped as malformed, not because of their contents. */
function wrongRows({ skipped }: Inspection): number {
  const { 'same-answers': _, overlong: __, 'nothing-to-train': ___, ...wrong } = skipped
  return Object.values(wrong).reduce((sum, one) => sum + one, 0)
}

// ---- what is shown

type Marker = (part: RenderedPart) => string

/** Marks trained tokens: green in a terminal, in brackets elsewhere. */
export function markerFor({ isTTY }: { isTTY?: boolean }, env: NodeJS.ProcessEnv = process.env): Marker {
  if (isTTY && !env.NO_COLOR) return ({ text, trained }) => (trained ? `\x1b[32m${text}\x1b[0m` : text)
  return ({ text, trained }) => (trained ? `[${text}]` : text)
}

export function describe(inspection: Inspection, mark: Marker): string {
  const { kind, otherKinds, files, rows, examples, formats, repeated, skipped, skippedLines, columns } = inspection
  const lines = files.map(({ path, rows, bytes }) => `${path}: ${amount(rows, 'row')}, ${bytesText(bytes)}`)
  const also = otherKinds.length === 0 ? '' : ` (also possible: ${otherKinds.join(', ')}; --kind)`
  lines.push('', `kind      ${kind}${examples === rows ? '' : `, ${amount(examples, 'example')}`}${also}`)
  lines.push(`formats   ${counted(formats) || 'none'}`)
  if (repeated > 0) lines.push(`repeated  ${amount(repeated, 'row')}`)
  if (skippedLines.length > 0) lines.push(`skipped   ${counted(skipped)}`, ...skippedLines.map(printable))
  lines.push(
    '',
    'columns',
    ...columns.map(({ name, type, role }) => `  ${printable(name)}: ${type}${role === undefined ? '' : ` -> ${role}`}`),
  )
  lines.push(...histogram(inspection))
  for (const row of inspection.rendered) lines.push('', ...renderedLines(row, inspection.unit, mark))
  return `${lines.join('\n')}\n`
}

const amount = (number: number, what: string): string =>
  `${number.toLocaleString('en')} ${what}${number === 1 ? '' : 's'}`

const counted = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([name, number]) => `${name} (${number.toLocaleString('en')})`)
    .join('; ')

function histogram({ lengths, unit }: Inspection): string[] {
  const { count, min, median, mean, p95, max, bins } = lengths
  if (count === 0) return []
  const largest = Math.max(...bins.map(bin => bin.count))
  const labels = bins.map(({ from, to }) => (from === to ? `${from}` : `${from}..${to}`))
  const width = Math.max(...labels.map(({ length }) => length))
  return [
    '',
    `length in ${unit}: ${min} to ${max}, median ${median}, mean ${numberText(mean)}, 95 % up to ${p95}`,
    ...bins.map((bin, i) => {
      const bar = '#'.repeat(Math.ceil((bin.count / largest) * 40))
      return `  ${labels[i]!.padStart(width)}  ${bar.padEnd(40)}  ${bin.count.toLocaleString('en')}`
    }),
  ]
}

/** Most characters of a section to show. Trained tokens are often at the end, so the middle is cut. */
const shownCharacters = 1600

function renderedLines({ where, sections, length }: RenderedRow, unit: string, mark: Marker): string[] {
  const lines = [`--- ${where} (${length} ${unit})`]
  for (const { title, parts } of sections) {
    if (title !== '') lines.push(`${title}:`)
    const share = Math.floor(shownCharacters / parts.length)
    lines.push(
      parts
        .map(part => mark({ ...part, text: printable(shortened(part.text, Math.max(200, share))) }))
        .join('')
        .trimEnd(),
    )
  }
  return lines
}

function shortened(text: string, limit: number): string {
  if (text.length <= limit) return text
  const half = Math.floor(limit / 2)
  return `${text.slice(0, half)} ... ${text.length - 2 * half} characters ... ${text.slice(-half)}`
}

/** Data may contain terminal escape codes. */
function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, character =>
    character === '\r' ? '' : `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
  )
}
