/**
 * Checkpoints of a run: a directory each, named by the optimiser step, with what the trainer put there and `state.json`. That
 * file lists every other file with its size and checksum, and carries a checksum over all it says. A directory that was cut
 * short is known without reading the weights; a flipped bit is found by reading them.
 */
import { createHash } from 'node:crypto'
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { fileCrc32, makeDirectory, syncDirectory, writeDirectoryAtomic } from '../files/index.js'
import { attributed } from './append-file.js'
import { RunError } from './errors.js'
import { type ExactJson, exactParse, exactStringify } from './exact-json.js'

export interface Checkpoint {
  readonly step: number
  readonly state: ExactJson
  readonly directory: string
}

/** What a checkpoint says beside the trainer's state. */
interface CheckpointRecord extends Checkpoint {
  /** `always`: never removed to make room for newer ones. */
  readonly keep: 'rotate' | 'always'
  /** How many bytes each log had. */
  readonly logs: Readonly<Record<string, number>>
}

interface StateBody {
  /** Once more, where the checksum covers it: a format that cannot be read is a newer version's, and not a flipped bit. */
  readonly schemaVersion?: number
  readonly step: number
  readonly time: string
  readonly keep: 'rotate' | 'always'
  readonly state: ExactJson
  readonly logs: Readonly<Record<string, number>>
  readonly files: readonly ListedFile[]
}

interface ListedFile {
  readonly path: string
  readonly size: number
  /** Checkpoints of before there were checksums have sizes alone. */
  readonly crc32?: string
}

const schemaVersion = 1
const stateFile = 'state.json'

interface NewCheckpoint {
  step: number
  state: ExactJson
  logs: Readonly<Record<string, number>>
  keep: 'rotate' | 'always'
  fill: (directory: string) => Promise<void>
}

export async function writeCheckpoint(parent: string, checkpoint: NewCheckpoint): Promise<string> {
  const { step, state, logs, keep, fill } = checkpoint
  const directory = join(parent, checkpointName(step))
  await attributed(directory, () => makeDirectory(parent))
  await writeDirectoryAtomic(
    directory,
    async temporary => {
      await fill(temporary)
      const files = await listFiles(temporary)
      const time = new Date().toISOString()
      const body: StateBody = { schemaVersion, step, time, keep, state, logs: { ...logs }, files }
      await writeFile(join(temporary, stateFile), encodeState(body))
    },
    { replaces: () => true },
  )
  return directory
}

type ReadCheckpoint =
  | { readonly kind: 'complete'; readonly checkpoint: CheckpointRecord }
  | { readonly kind: 'incomplete'; readonly directory: string; readonly reason: string }

/** How closely files are looked at: `sizes` reads none of them, `checksums` all. */
type CheckpointCheck = 'sizes' | 'checksums'

/** Checks one checkpoint. A format this version does not know is a {@link RunError}: to pass it over would lose what it holds. */
export async function readCheckpoint(parent: string, step: number, check: CheckpointCheck): Promise<ReadCheckpoint> {
  const directory = join(parent, checkpointName(step))
  const incomplete = (reason: string): ReadCheckpoint => ({ kind: 'incomplete', directory, reason })
  const text = await readFile(join(directory, stateFile), 'utf8').catch(() => undefined)
  if (text === undefined) return incomplete(`${stateFile} is missing`)
  const body = decodeState(directory, text)
  if (typeof body === 'string') return incomplete(body)
  for (const file of body.files) {
    const problem = await fileProblem(directory, file, check)
    if (problem !== undefined) return incomplete(problem)
  }
  const { state, logs, keep } = body
  return { kind: 'complete', checkpoint: { step, state, directory, logs, keep } }
}

/** What is wrong with a file of a checkpoint, if anything is. */
async function fileProblem(
  directory: string,
  { path, size, crc32 }: ListedFile,
  check: CheckpointCheck,
): Promise<string | undefined> {
  const place = join(directory, path)
  const found = await stat(place).catch(() => undefined)
  if (found?.size !== size) return found ? `${path} has ${found.size} bytes, not ${size}` : `${path} is missing`
  if (check === 'sizes' || crc32 === undefined) return undefined
  const sum = await fileCrc32(place).catch((error: Error) => error)
  if (typeof sum !== 'string') return `${path} cannot be read (${sum.message})`
  return sum === crc32 ? undefined : `${path} is damaged: its checksum is ${sum}, not ${crc32}`
}

/** A checkpoint that cannot be resumed, and why. */
export interface PassedOver {
  readonly step: number
  readonly directory: string
  readonly reason: string
  readonly journalFrom?: number
}

/** Why a complete checkpoint cannot be resumed, and from which iteration on its journal cannot be used. */
export interface Refusal {
  readonly reason: string
  readonly journalFrom: number
}

/** The newest checkpoint that can be resumed, and newer ones that cannot. Every file is read. */
export async function latestCheckpoint(
  parent: string,
  refuse: (state: ExactJson) => Promise<Refusal | undefined>,
): Promise<{ latest: CheckpointRecord | undefined; passedOver: readonly PassedOver[] }> {
  const passedOver: PassedOver[] = []
  for (const step of (await checkpointSteps(parent)).reverse()) {
    const found = await readCheckpoint(parent, step, 'checksums')
    const refused = found.kind === 'complete' ? await refuse(found.checkpoint.state) : { reason: found.reason }
    if (found.kind === 'complete' && !refused) return { latest: found.checkpoint, passedOver }
    if (refused) passedOver.push({ step, directory: join(parent, checkpointName(step)), ...refused })
  }
  return { latest: undefined, passedOver }
}

/** The newest checkpoint whose files have their sizes: for those who look at a run. */
export async function newestCheckpoint(parent: string): Promise<CheckpointRecord | undefined> {
  for (const step of (await checkpointSteps(parent)).reverse()) {
    const found = await readCheckpoint(parent, step, 'sizes')
    if (found.kind === 'complete') return found.checkpoint
  }
  return undefined
}

interface RotateOptions {
  /** The step of the newest checkpoint. One beyond it was passed over: it goes when the run has come past it. */
  readonly newest: number
  /** How many stay. */
  readonly count: number
  /** Steps whose checkpoints were passed over: they are not among those that stay. */
  readonly unusable: ReadonlySet<number>
}

/** Keeps the newest complete checkpoints and those marked to be kept, and removes the others. Files are not read again for it. */
export async function rotateCheckpoints(parent: string, { newest, count, unusable }: RotateOptions): Promise<void> {
  let kept = 0
  for (const step of (await checkpointSteps(parent)).reverse()) {
    if (step > newest) continue
    const directory = join(parent, checkpointName(step))
    const found = await readCheckpoint(parent, step, 'sizes')
    if (found.kind === 'complete' && found.checkpoint.keep === 'always') continue
    if (found.kind === 'complete' && kept < count && !unusable.has(step)) kept++
    else await removeCheckpoint(directory)
  }
  await attributed(parent, () => syncDirectory(parent))
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

/** Remove the state file first: then a partial removal is not a checkpoint. */
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

/** Contents of the file, or why it is invalid. */
function decodeState(directory: string, text: string): StateBody | string {
  const match = /^\{"schemaVersion":(\d+),"sha256":"([0-9a-f]{64})","body":(.*)\}\n$/s.exec(text)
  const version = Number(match?.[1] ?? /^\{"schemaVersion":(\d+),/.exec(text)?.[1])
  const body = match && sha256(match[3]!) === match[2] ? (exactParse(match[3]!) as unknown as StateBody) : undefined
  if (body?.schemaVersion !== undefined && body.schemaVersion !== version) return `${stateFile} is damaged`
  if (version > schemaVersion)
    throw new RunError(
      `${directory} was written by a newer Whetstone (format ${version}; this version reads up to format ${schemaVersion})`,
      { remedy: `Use that version, or remove ${directory} to resume from the previous checkpoint.` },
    )
  return body ?? `${stateFile} is damaged`
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** Every file but the list itself. */
async function listFiles(directory: string): Promise<ListedFile[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const places = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
  const files: ListedFile[] = []
  for (const place of places.sort()) {
    const path = relative(directory, place).split(sep).join('/')
    // One after another: they share the disk.
    if (path !== stateFile) files.push({ path, size: (await stat(place)).size, crc32: await fileCrc32(place) })
  }
  return files
}
