/** Decides whether a stage must run, from its directory and its inputs. */
import { existsSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { makeDirectory, recoverDirectory } from '../files/index.js'
import { directoryFingerprint } from './fingerprints.js'
import { changedInputs, type InputChange, readStageRecord, type StageInputs, type StageRecord } from './stage-record.js'

type StageState =
  /** Nothing is there. */
  | { readonly kind: 'absent' }
  /** Done, with these inputs. */
  | { readonly kind: 'current'; readonly record: StageRecord }
  /** Started with these inputs, and not finished. */
  | { readonly kind: 'unfinished' }
  /** Made from other inputs, or changed since. */
  | { readonly kind: 'stale'; readonly status: StageRecord['status']; readonly changed: readonly InputChange[] }

/** `model` is the directory that the stage makes. */
export async function stageState(directory: string, model: string, inputs: StageInputs): Promise<StageState> {
  const record = await readStageRecord(directory)
  if (!record) return { kind: 'absent' }
  const changed = changedInputs(record.inputs, inputs)
  const { status } = record
  if (changed.length > 0) return { kind: 'stale', status, changed }
  if (status === 'started') return { kind: 'unfinished' }
  await recoverDirectory(model)
  const found = await directoryFingerprint(model)
  if (found !== record.model)
    return { kind: 'stale', status, changed: [{ path: basename(model), from: record.model, to: found }] }
  return { kind: 'current', record }
}

/** Moves old results of a stage away before its next run; they are never deleted. Returns the new path. */
export async function setAside(directory: string): Promise<string> {
  const folder = join(dirname(directory), 'previous')
  await makeDirectory(folder)
  let number = 1
  const place = (): string => join(folder, `${basename(directory)}-${number}`)
  while (existsSync(place())) number++
  await rename(directory, place())
  return place()
}
