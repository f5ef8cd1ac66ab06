import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { makeDirectory, syncDirectory, temporaryTarget, writeFileAtomic } from '../../files/index.js'
import type { Tensor } from '../tensor.js'
import { indexName, singleName } from './checkpoint.js'
import { entriesOf, type NamedTensors, type WriteOptions, writeSafetensors } from './write-file.js'

interface WriteCheckpointOptions extends WriteOptions {
  /** A shard is closed before it would grow past this; a single larger tensor gets a shard of its own. Default 5 GB. */
  readonly maxShardBytes?: number
}

type Shard = ReadonlyMap<string, Tensor>

/**
 * Writes a model's weights into a directory as Hugging Face lays them out: `model.safetensors`, or shards
 * `model-00001-of-0000N.safetensors` and `model.safetensors.index.json` where they exceed `maxShardBytes`.
 *
 * A save over an earlier one replaces it at a single instant, and only then removes files of the earlier save and of interrupted ones.
 * One writer per directory at a time.
 *
 * @example
 * await writeCheckpoint('out/model', new Map([['lm_head.weight', zeros([8, 4])]]), { maxShardBytes: 2e9 })
 */
export async function writeCheckpoint(
  directory: string,
  tensors: NamedTensors,
  { maxShardBytes = 5e9, metadata = { format: 'pt' }, signal, onProgress, materialize }: WriteCheckpointOptions = {},
): Promise<void> {
  if (!(maxShardBytes > 0)) throw new RangeError(`maxShardBytes must be more than 0, not ${maxShardBytes}`)
  const entries = [...entriesOf(tensors)]
  const shards = splitBySize(entries, maxShardBytes)
  const bytesTotal = entries.reduce((sum, [, tensor]) => sum + tensor.nbytes, 0)
  await makeDirectory(directory)

  let bytesBefore = 0
  const writeShard = async (name: string, shard: Shard) => {
    let shardBytes = 0
    await writeSafetensors(join(directory, name), shard, {
      metadata,
      ...(signal && { signal }),
      ...(materialize && { materialize }),
      onProgress: progress => {
        shardBytes = progress.bytesTotal
        onProgress?.({ bytesDone: bytesBefore + progress.bytesDone, bytesTotal })
      },
    })
    bytesBefore += shardBytes
  }

  const [first, ...others] = shards
  if (first !== undefined && others.length === 0) {
    await writeShard(singleName, first)
    await removeOthers(directory, new Set([singleName]))
  } else {
    const names = await commitShards(directory, shards, { bytesTotal, writeShard })
    await removeOthers(directory, new Set([indexName, ...names]))
  }
}

/**
 * Shards first, then the index that names them, so that an index never points at a missing or half-written shard. A name the
 * directory holds already is never reused: an interrupted save would leave the earlier index pointing at a mixture of old and new
 * weights. Loaders take the names from the index, so a second generation may be called `model-r2-00001-of-0000N.safetensors`.
 */
async function commitShards(
  directory: string,
  shards: readonly Shard[],
  { bytesTotal, writeShard }: { bytesTotal: number; writeShard: (name: string, shard: Shard) => Promise<void> },
): Promise<string[]> {
  const names = shardNames(shards.length, new Set(await readdir(directory)))
  const weightMap: [string, string][] = []
  try {
    for (const [at, shard] of shards.entries()) {
      await writeShard(names[at]!, shard)
      for (const tensor of shard.keys()) weightMap.push([tensor, names[at]!])
    }
  } catch (error) {
    // No index names them yet. The first error is the one worth reporting.
    for (const name of names) await rm(join(directory, name), { force: true }).catch(() => {})
    throw error
  }
  const index = { metadata: { total_size: bytesTotal }, weight_map: Object.fromEntries(weightMap) }
  await writeFileAtomic(join(directory, indexName), `${JSON.stringify(index, null, 2)}\n`)
  return names
}

function shardNames(count: number, taken: ReadonlySet<string>): string[] {
  const digits = (n: number) => String(n).padStart(5, '0')
  for (let generation = 1; ; generation++) {
    const stem = generation === 1 ? 'model' : `model-r${generation}`
    const names = Array.from({ length: count }, (_, i) => `${stem}-${digits(i + 1)}-of-${digits(count)}.safetensors`)
    if (!names.some(name => taken.has(name))) return names
  }
}

const checkpointFile = /^model(-r\d+)?-\d{5,}-of-\d{5,}\.safetensors$/

/**
 * Removes what earlier saves left. `model.safetensors` goes before anything else, because readers prefer it to an index, and an
 * index before its shards: a crash in between leaves a whole checkpoint and some unused files.
 */
async function removeOthers(directory: string, keep: ReadonlySet<string>): Promise<void> {
  for (const name of [singleName, indexName]) {
    if (keep.has(name)) continue
    await rm(join(directory, name), { force: true })
    await syncDirectory(directory)
  }
  for (const name of await readdir(directory)) {
    const target = temporaryTarget(name) ?? name
    const ours = checkpointFile.test(target) || (target !== name && (target === singleName || target === indexName))
    if (ours && !keep.has(name)) await rm(join(directory, name), { force: true })
  }
}

function splitBySize(entries: readonly (readonly [string, Tensor])[], maxBytes: number): Map<string, Tensor>[] {
  let current = new Map<string, Tensor>()
  const shards = [current]
  let bytes = 0
  for (const [name, tensor] of entries) {
    if (current.size > 0 && bytes + tensor.nbytes > maxBytes) {
      current = new Map()
      shards.push(current)
      bytes = 0
    }
    current.set(name, tensor)
    bytes += tensor.nbytes
  }
  return shards
}
