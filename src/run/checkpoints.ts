/**
 * Checkpoints of a run: a directory each, named by the optimiser step, with what the trainer put there and `state.json`. That
 * file lists every other file with its size and carries a checksum over all it says: a directory that was cut short, by a
 * copy that broke off or a disk that lost files, is known without reading the weights.
 */
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { recoverDirectory, syncDirectory, writeDirectoryAtomic } from '../files/index.js'
import { attributed } from './append-file.js'
import { RunError } from './errors.js'
import { type ExactJson, exactParse, exactStringify } from './exact-json.js'

export interface Checkpoint {
  readonly step: number
  readonly state: ExactJson
  readonly directory: string
}

/** What a checkpoint says beside the trainer's state. */
export interface CheckpointRecord extends Checkpoint {
  /** `always`: never removed to make room for newer ones. */
  readonly keep: 'rotate' | 'always'
  /** How many bytes each log had. */
  readonly logs: Readonly<Record<string, number>>
}

interface StateBody {
  readonly step: number
  readonly time: string
  readonly keep: 'rotate' | 'always'
  readonly state: ExactJson
  readonly logs: Readonly<Record<string, number>>
  readonly files: readonly { readonly path: string; readonly size: number }[]
}

const schemaVersion = 1
const stateFile = 'state.json'

export interface NewCheckpoint {
  step: number
  state: ExactJson
  logs: Readonly<Record<string, number>>
  keep: 'rotate' | 'always'
  fill: (directory: string) => Promise<void>
}

export async function writeCheckpoint(parent: string, checkpoint: NewCheckpoint): Promise<string> {
  const { step, state, logs, keep, fill } = checkpoint
  const directory = join(parent, checkpointName(step))
  await attributed(directory, () => mkdir(parent, { recursive: true }))
  await writeDirectoryAtomic(
    directory,
    async temporary => {
      await fill(temporary)
      const files = (await filesOf(temporary)).filter(({ path }) => path !== stateFile)
      const body: StateBody = { step, time: new Date().toISOString(), keep, state, logs: { ...logs }, files }
      await writeFile(join(temporary, stateFile), encodeState(body))
    },
    { replaces: () => true },
  )
  return directory
}

export type ReadCheckpoint =
  | { readonly kind: 'complete'; readonly checkpoint: CheckpointRecord }
  | { readonly kind: 'incomplete'; readonly directory: string; readonly reason: string }

/** Checks one checkpoint. A format this version does not know is a {@link RunError}: to pass it over would lose what it holds. */
export async function readCheckpoint(parent: string, step: number): Promise<ReadCheckpoint> {
  const directory = join(parent, checkpointName(step))
  const incomplete = (reason: string): ReadCheckpoint => ({ kind: 'incomplete', directory, reason })
  const text = await readFile(join(directory, stateFile), 'utf8').catch(() => undefined)
  if (text === undefined) return incomplete(`${stateFile} is missing`)
  const body = decodeState(directory, text)
  if (typeof body === 'string') return incomplete(body)
  for (const { path, size } of body.files) {
    const found = await stat(join(directory, path)).catch(() => undefined)
    if (found?.size !== size)
      return incomplete(found ? `${path} has ${found.size} bytes, not ${size}` : `${path} is missing`)
  }
  const { state, logs, keep } = body
  return { kind: 'complete', checkpoint: { step, state, directory, logs, keep } }
}

/** The newest checkpoint that is complete. `onPassedOver` hears of newer ones that are not. */
export async function latestCheckpoint(
  parent: string,
  onPassedOver: (directory: string, reason: string) => void = () => {},
): Promise<CheckpointRecord | undefined> {
  for (const step of (await checkpointSteps(parent)).reverse()) {
    const found = await readCheckpoint(parent, step)
    if (found.kind === 'complete') return found.checkpoint
    onPassedOver(found.directory, found.reason)
  }
  return undefined
}

/**
 * Of the checkpoints up to the step `newest`, keeps the `count` newest complete ones and those marked to be kept, and removes the
 * others. One beyond it was cut short and passed over: it goes when the run has come past it.
 */
export async function rotateCheckpoints(parent: string, newest: number, count: number): Promise<void> {
  let kept = 0
  for (const step of (await checkpointSteps(parent)).reverse()) {
    if (step > newest) continue
    const found = await readCheckpoint(parent, step)
    if (found.kind === 'complete' && found.checkpoint.keep === 'always') continue
    if (found.kind === 'complete' && kept < count) kept++
    else await removeCheckpoint(join(parent, checkpointName(step)))
  }
  await attributed(parent, () => syncDirectory(parent))
}

/** Finishes or removes what killed processes left between the checkpoints. */
export async function recoverCheckpoints(parent: string): Promise<void> {
  const left = (await readdir(parent).catch(() => [])).map(name => /^\.(\d{6,})\./.exec(name)?.[1])
  for (const name of new Set(left)) if (name !== undefined) await recoverDirectory(join(parent, name))
}

/** Steps that have a directory, complete or not, ascending. */
export async function checkpointSteps(parent: string): Promise<number[]> {
  const names = await readdir(parent).catch(() => [])
  return names
    .filter(name => /^\d{6,}$/.test(name))
    .map(Number)
    .sort((a, b) => a - b)
}

function checkpointName(step: number): string {
  return String(step).padStart(6, '0')
}

/** The state goes first: what is left of a removal that is cut short is no checkpoint. */
async function removeCheckpoint(directory: string): Promise<void> {
  await attributed(directory, async () => {
    await rm(join(directory, stateFile), { force: true })
    await rm(directory, { recursive: true, force: true })
  })
}

function encodeState(body: StateBody): string {
  const text = exactStringify(body as unknown as ExactJson)
  return `{"schemaVersion":${schemaVersion},"sha256":"${sha256(text)}","body":${text}}\n`
}

/** What the file says, or why it cannot be believed. */
function decodeState(directory: string, text: string): StateBody | string {
  const match = /^\{"schemaVersion":(\d+),"sha256":"([0-9a-f]{64})","body":(.*)\}\n$/s.exec(text)
  const version = Number(match?.[1] ?? /^\{"schemaVersion":(\d+),/.exec(text)?.[1])
  if (version > schemaVersion)
    throw new RunError(
      `${directory} was written by a newer Whetstone (format ${version}, this one reads up to ${schemaVersion})`,
      { remedy: `Use that version, or remove ${directory} to go on from the checkpoint before it.` },
    )
  if (!match || sha256(match[3]!) !== match[2]) return `${stateFile} is damaged`
  return exactParse(match[3]!) as unknown as StateBody
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

async function filesOf(directory: string): Promise<{ path: string; size: number }[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const paths = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
  const files = paths.map(async path => ({
    path: relative(directory, path).split(sep).join('/'),
    size: (await stat(path)).size,
  }))
  return (await Promise.all(files)).sort((a, b) => (a.path < b.path ? -1 : 1))
}
