import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { Checkpoint, SafetensorsError, writeCheckpoint, writeSafetensors } from '../../src/tensor/safetensors/index.js'
import { Tensor } from '../../src/tensor/tensor.js'
import { temporaryDirectory } from '../support/files.js'

vi.mock('node:fs/promises', async original => {
  const real = await original<typeof fs>()
  return { ...real, rename: vi.fn(real.rename), rm: vi.fn(real.rm) }
})

afterEach(() => {
  vi.resetAllMocks()
})

const indexFile = 'model.safetensors.index.json'
const bytesEach = 16

/** Four tensors of 16 bytes, all filled with `value`. */
function weights(value: number): Map<string, Tensor> {
  return new Map(
    ['a', 'b', 'c', '__proto__'].map(name => {
      const tensor = Tensor.empty([2, 2], { dtype: 'float32' })
      tensor.bytes().fill(value)
      return [name, tensor]
    }),
  )
}

/** The value all tensors of a checkpoint are filled with; fails on a mixture. */
async function valueIn(directory: string): Promise<number> {
  const checkpoint = await Checkpoint.open(directory)
  const values = new Set<number>()
  for (const name of checkpoint.names) {
    const tensor = await checkpoint.read(name)
    for (const byte of tensor.bytes()) values.add(byte)
    tensor.dispose()
  }
  await checkpoint.close()
  expect(checkpoint.names.toSorted()).toEqual([...weights(0).keys()].toSorted())
  expect([...values]).toHaveLength(1)
  return [...values][0]!
}

describe('writeCheckpoint', () => {
  it('writes one file when it fits, with the metadata transformers asks for', async () => {
    const directory = join(temporaryDirectory(), 'new', 'model')
    await writeCheckpoint(directory, weights(3))
    expect(readdirSync(directory)).toEqual(['model.safetensors'])
    const checkpoint = await Checkpoint.open(directory)
    expect(checkpoint.metadata).toEqual({ format: 'pt' })
    expect(checkpoint.info('a')).toEqual({ dtype: 'float32', shape: [2, 2], bytes: bytesEach })
    await checkpoint.close()
    expect(await valueIn(directory)).toBe(3)
    expect(await valueIn(join(directory, 'model.safetensors'))).toBe(3)
  })

  it('splits by size and writes the index', async () => {
    const directory = temporaryDirectory()
    const progress: number[] = []
    const onProgress = (p: { bytesDone: number; bytesTotal: number }) => progress.push(p.bytesDone / p.bytesTotal)
    await writeCheckpoint(directory, weights(3), { maxShardBytes: 40, onProgress })
    const shards = ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors']
    expect(readdirSync(directory).toSorted()).toEqual([...shards, indexFile])
    const index = JSON.parse(readFileSync(join(directory, indexFile), 'utf8'))
    expect(index.metadata).toEqual({ total_size: 4 * bytesEach })
    expect(Object.entries(index.weight_map)).toEqual([
      ['a', shards[0]],
      ['b', shards[0]],
      ['c', shards[1]],
      ['__proto__', shards[1]],
    ])
    expect(progress).toEqual([0.25, 0.5, 0.75, 1])
    expect(await valueIn(directory)).toBe(3)
    expect(await valueIn(join(directory, indexFile))).toBe(3)
  })

  it('gives a tensor larger than a shard a shard of its own', async () => {
    const directory = temporaryDirectory()
    await writeCheckpoint(directory, weights(3), { maxShardBytes: 1 })
    expect(readdirSync(directory).filter(name => name.includes('-of-00004'))).toHaveLength(4)
    expect(await valueIn(directory)).toBe(3)
  })

  it.each([0, -1, Number.NaN])('refuses shards of %d bytes', async maxShardBytes => {
    await expect(writeCheckpoint(temporaryDirectory(), weights(1), { maxShardBytes })).rejects.toThrow(RangeError)
  })
})

const sizes = { single: 1000, 'two shards': 40, 'four shards': 16 }
const transitions = Object.entries(sizes).flatMap(([from, before]) =>
  Object.entries(sizes).map(([to, after]) => ({ from, to, before, after })),
)

describe('saving over an earlier checkpoint', () => {
  it.each(transitions)(
    '$from -> $to: only the new files stay, and files that are not ours',
    async ({ before, after }) => {
      const directory = temporaryDirectory()
      const strangers = ['config.json', 'model-notes.safetensors', 'adapter.safetensors', '.other.0123456789ab.tmp']
      for (const name of strangers) writeFileSync(join(directory, name), '')
      await writeCheckpoint(directory, weights(1), { maxShardBytes: before })
      writeFileSync(join(directory, '.model.safetensors.0123456789ab.tmp'), 'left by a killed save')
      writeFileSync(join(directory, '.model-00001-of-00009.safetensors.0123456789ab.tmp'), 'left by a killed save')
      await writeCheckpoint(directory, weights(2), { maxShardBytes: after })
      expect(await valueIn(directory)).toBe(2)
      const files = readdirSync(directory).filter(name => !strangers.includes(name))
      expect(files).toHaveLength(after === sizes.single ? 1 : 1 + (4 * bytesEach) / Math.floor(after / 16) / 16)
      expect(readdirSync(directory)).toEqual(expect.arrayContaining(strangers))
    },
  )

  it.each(transitions)(
    '$from -> $to: killed at any step, the old or the new one is whole',
    async ({ before, after }) => {
      const root = temporaryDirectory()
      const directory = join(root, 'model')
      await writeCheckpoint(directory, weights(1), { maxShardBytes: before })

      // What a kill before each step that changes a name would leave on the disk.
      const snapshots: string[] = []
      const snapshot = () => {
        const copy = join(root, `killed-${snapshots.length}`)
        cpSync(directory, copy, { recursive: true })
        snapshots.push(copy)
      }
      const real = await vi.importActual<typeof fs>('node:fs/promises')
      vi.mocked(fs.rename).mockImplementation((from, to) => {
        snapshot()
        return real.rename(from, to)
      })
      vi.mocked(fs.rm).mockImplementation((path, options) => {
        snapshot()
        return real.rm(path, options)
      })
      await writeCheckpoint(directory, weights(2), { maxShardBytes: after })
      snapshot()
      vi.resetAllMocks()

      const values: number[] = []
      for (const copy of snapshots) values.push(await valueIn(copy))
      expect(values[0]).toBe(1)
      expect(values.at(-1)).toBe(2)
      expect(values).toEqual(values.toSorted())
      // The next save after the kill works, and cleans up.
      for (const copy of snapshots) {
        await writeCheckpoint(copy, weights(3), { maxShardBytes: after })
        expect(await valueIn(copy)).toBe(3)
        expect(readdirSync(copy)).toHaveLength(readdirSync(directory).length)
      }
    },
  )
})

describe('a save that fails', () => {
  it.each(Object.values(sizes))('leaves the earlier checkpoint (shards of %d bytes) and nothing else', async before => {
    const directory = temporaryDirectory()
    await writeCheckpoint(directory, weights(1), { maxShardBytes: before })
    const files = readdirSync(directory)
    const controller = new AbortController()
    const saving = writeCheckpoint(directory, weights(2), {
      maxShardBytes: 40,
      signal: controller.signal,
      onProgress: ({ bytesDone, bytesTotal }) => {
        if (bytesDone > bytesTotal / 2) controller.abort(new Error('enough'))
      },
    })
    await expect(saving).rejects.toThrow('enough')
    expect(readdirSync(directory)).toEqual(files)
    expect(await valueIn(directory)).toBe(1)
  })
})

describe('Checkpoint.open', () => {
  async function sharded(edit: (index: { weight_map: Record<string, unknown> }) => unknown): Promise<string> {
    const directory = join(temporaryDirectory(), 'model')
    await writeCheckpoint(directory, weights(3), { maxShardBytes: 40 })
    const path = join(directory, indexFile)
    const index = JSON.parse(readFileSync(path, 'utf8'))
    writeFileSync(path, JSON.stringify(edit(index) ?? index))
    return directory
  }

  it.each([
    '../model.safetensors',
    '..',
    '.',
    '',
    '/etc/passwd',
    'sub/model.safetensors',
    './model-00001-of-00002.safetensors',
    'sub\\model.safetensors',
    'C:model.safetensors',
    'model\0.safetensors',
    7,
    null,
  ])('refuses an index that names %j', async shard => {
    const directory = await sharded(index => {
      index.weight_map.b = shard
    })
    // The file exists and holds the tensor: only its place is wrong.
    await writeSafetensors(join(directory, '..', 'model.safetensors'), weights(9))
    mkdirSync(join(directory, 'sub'))
    await writeSafetensors(join(directory, 'sub', 'model.safetensors'), weights(9))
    const error = await Checkpoint.open(directory).catch(e => e)
    expect(error).toBeInstanceOf(SafetensorsError)
    expect(error).toMatchObject({
      tensor: 'b',
      message: expect.stringMatching(/not a file name in the directory of the index/),
    })
  })

  it('follows links: the Hugging Face cache is made of them', async () => {
    const directory = await sharded(() => {})
    const blobs = temporaryDirectory()
    for (const name of readdirSync(directory)) {
      renameSync(join(directory, name), join(blobs, name))
      symlinkSync(join(blobs, name), join(directory, name))
    }
    expect(await valueIn(directory)).toBe(3)
  })

  it('names a shard that is missing', async () => {
    const directory = await sharded(() => {})
    rmSync(join(directory, 'model-00002-of-00002.safetensors'))
    await expect(Checkpoint.open(directory)).rejects.toThrow(
      /model-00002-of-00002\.safetensors: cannot be opened: there is no such file/,
    )
  })

  it('names a tensor that is not in its shard', async () => {
    const directory = await sharded(index => {
      index.weight_map.d = 'model-00001-of-00002.safetensors'
    })
    await expect(Checkpoint.open(directory)).rejects.toThrow(/tensor "d": is not in model-00001-of-00002\.safetensors/)
  })

  it.each([
    ['not JSON', '{', /the index is not JSON/],
    ['a list', '[]', /no weight_map/],
    ['no weight_map', '{}', /no weight_map/],
    ['a list for a weight_map', '{"weight_map":[]}', /no weight_map/],
    ['a tensor twice', '{"weight_map":{"a":"x","a":"y"}}', /has the key "a" twice/],
  ])('refuses an index that is %s', async (_, text, message) => {
    const directory = temporaryDirectory()
    writeFileSync(join(directory, indexFile), text)
    const opening = Checkpoint.open(directory)
    await expect(opening).rejects.toThrow(SafetensorsError)
    await expect(opening).rejects.toThrow(message)
  })

  it('says what a directory without weights lacks', async () => {
    const directory = temporaryDirectory()
    await expect(Checkpoint.open(directory)).rejects.toThrow(
      /neither model\.safetensors nor model\.safetensors\.index\.json/,
    )
    await expect(Checkpoint.open(join(directory, 'none'))).rejects.toThrow(/does not exist/)
    await writeCheckpoint(directory, weights(1))
    const checkpoint = await Checkpoint.open(directory)
    await expect(checkpoint.read('nope')).rejects.toThrow(/has no tensor "nope"/)
    await checkpoint.close()
  })
})
