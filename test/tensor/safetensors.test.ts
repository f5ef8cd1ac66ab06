import { readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { memoryUse } from '../../src/tensor/device.js'
import type { DType } from '../../src/tensor/dtype.js'
import {
  type Progress,
  SafetensorsError,
  SafetensorsFile,
  writeSafetensors,
} from '../../src/tensor/safetensors/index.js'
import { scope } from '../../src/tensor/scope.js'
import { Tensor } from '../../src/tensor/tensor.js'
import { temporaryDirectory } from '../support/files.js'
import { heldMemory } from '../support/held-memory.js'

const dtypes: readonly DType[] = [
  'float64',
  'float32',
  'float16',
  'bfloat16',
  'int64',
  'int32',
  'int16',
  'int8',
  'uint8',
  'bool',
]

// One that is left to the garbage collector would be counted in some later test, or not.
const made: Tensor[] = []
const kept = (tensor: Tensor): Tensor => {
  made.push(tensor)
  return tensor
}
afterEach(() => {
  for (const tensor of made.splice(0)) tensor.dispose()
})

/** Bit patterns rather than values: what must come back are bits, NaN payloads included. */
function patterned(dtype: DType, shape: readonly number[], seed = 1): Tensor {
  const tensor = kept(Tensor.empty(shape, { dtype }))
  const bytes = tensor.bytes()
  for (let i = 0; i < bytes.length; i++) bytes[i] = dtype === 'bool' ? (i + seed) % 2 : (i * 97 + seed * 31) % 256
  return tensor
}

const pythonFile = fileURLToPath(new URL('../fixtures/safetensors/python.safetensors', import.meta.url))

describe('round trip', () => {
  it.each(dtypes)('%s, bit for bit', async dtype => {
    const path = join(temporaryDirectory(), 'model.safetensors')
    const shapes = { matrix: [3, 5], scalar: [], none: [0, 4], one: [1, 1, 1] }
    const tensors = Object.fromEntries(Object.entries(shapes).map(([name, shape]) => [name, patterned(dtype, shape)]))
    await writeSafetensors(path, tensors, { metadata: { note: 'ünïcode' } })

    const file = await SafetensorsFile.open(path)
    expect(new Set(file.names)).toEqual(new Set(Object.keys(shapes)))
    expect(file.metadata).toEqual({ note: 'ünïcode' })
    for (const [name, tensor] of Object.entries(tensors)) {
      expect(file.info(name)).toEqual({ dtype, shape: tensor.shape, bytes: tensor.nbytes })
      const read = await file.read(name)
      expect([read.dtype, read.shape, read.device]).toEqual([dtype, tensor.shape, 'cpu'])
      expect(Buffer.from(read.bytes())).toEqual(Buffer.from(tensor.bytes()))
      read.dispose()
      tensor.dispose()
    }
    await file.close()
  })

  it('pads the header to 8 bytes and takes a Map', async () => {
    const path = join(temporaryDirectory(), 'model.safetensors')
    for (let length = 1; length < 12; length++) {
      await writeSafetensors(path, new Map([['n'.repeat(length), patterned('uint8', [1])]]))
      expect(readFileSync(path).readBigUInt64LE() % 8n).toBe(0n)
      await (await SafetensorsFile.open(path)).close()
    }
  })

  it('no tensors at all', async () => {
    const path = join(temporaryDirectory(), 'model.safetensors')
    await writeSafetensors(path, {})
    const file = await SafetensorsFile.open(path)
    expect(file.names).toEqual([])
    await file.close()
  })
})

describe('the reference implementation', () => {
  it('is read, and written again byte for byte', async () => {
    const path = join(temporaryDirectory(), 'again.safetensors')
    const file = await SafetensorsFile.open(pythonFile)
    // In another order than the file's: the writer has to find the order itself.
    const tensors = new Map<string, Tensor>()
    for (const name of [...file.names].reverse()) tensors.set(name, kept(await file.read(name)))
    await writeSafetensors(path, tensors, { metadata: file.metadata })
    await file.close()
    expect(readFileSync(path)).toEqual(readFileSync(pythonFile))
    for (const tensor of tensors.values()) tensor.dispose()
  })

  it('is read with the values Python wrote', async () => {
    const file = await SafetensorsFile.open(pythonFile)
    const read = async (name: string) => Buffer.from(kept(await file.read(name)).bytes())
    expect((await read('f64')).readDoubleLE(8)).toBe(-1e300)
    expect((await read('f32')).readFloatLE(20)).toBe(3.25)
    expect((await read('bf16')).toString('hex')).toBe('803f49c0967e003c')
    expect((await read('i64')).readBigInt64LE(0)).toBe(-(2n ** 63n))
    expect([...(await read('bool'))]).toEqual([1, 0, 1])
    expect((await read('scalar')).readFloatLE()).toBe(42)
    expect(file.info('empty').shape).toEqual([0, 3])
    expect((await read('__proto__')).readFloatLE()).toBe(4)
    await file.close()
  })
})

describe('reading', () => {
  async function bigFile(): Promise<SafetensorsFile> {
    const path = join(temporaryDirectory(), 'model.safetensors')
    const tensor = patterned('uint8', [9 << 20])
    await writeSafetensors(path, { big: tensor })
    tensor.dispose()
    return SafetensorsFile.open(path)
  }

  it('casts on request', async () => {
    const path = join(temporaryDirectory(), 'model.safetensors')
    const tensor = kept(Tensor.empty([2], { dtype: 'float32' }))
    tensor.bytes().set(new Uint8Array(Float32Array.of(1, -2.5).buffer))
    await writeSafetensors(path, { w: tensor })
    const file = await SafetensorsFile.open(path)
    const cast = kept(await file.read('w', { dtype: 'bfloat16' }))
    expect(cast.dtype).toBe('bfloat16')
    expect(Buffer.from(cast.bytes()).toString('hex')).toBe('803f20c0')
    await file.close()
  })

  it('reports progress', async () => {
    const file = await bigFile()
    const seen: Progress[] = []
    ;(await file.read('big', { onProgress: progress => seen.push(progress) })).dispose()
    expect(seen.length).toBeGreaterThan(2)
    expect(seen.map(p => p.bytesDone)).toEqual(seen.map(p => p.bytesDone).toSorted((a, b) => a - b))
    expect(seen.at(-1)).toEqual({ bytesDone: 9 << 20, bytesTotal: 9 << 20 })
    await file.close()
  })

  it('stops when aborted, before and during, and can go on afterwards', async () => {
    const file = await bigFile()
    await expect(file.read('big', { signal: AbortSignal.abort() })).rejects.toThrow(/abort/)
    const controller = new AbortController()
    let chunks = 0
    const reading = file.read('big', {
      signal: controller.signal,
      onProgress: () => {
        chunks++
        controller.abort(new Error('enough'))
      },
    })
    await expect(reading).rejects.toThrow('enough')
    expect(chunks).toBe(1)
    const again = kept(await file.read('big'))
    expect(again.nbytes).toBe(9 << 20)
    await file.close()
  })

  it('says which tensor is not there', async () => {
    const file = await SafetensorsFile.open(pythonFile)
    await expect(file.read('nope')).rejects.toThrow(SafetensorsError)
    await expect(file.read('nope')).rejects.toThrow(/has no tensor "nope"/)
    await expect(file.readInto('f32', new Uint8Array(3))).rejects.toThrow(/takes 24 bytes, not the 3 given/)
    await file.close()
  })
})

describe('memory', () => {
  it('leaves no tensor behind, whether a transfer succeeds, fails or is aborted', async () => {
    const path = join(temporaryDirectory(), 'model.safetensors')
    const wide = patterned('float32', [64, 32])
    const rotated = wide.t()
    const { liveTensors: before } = await heldMemory()
    await writeSafetensors(path, { rotated })
    await expect(writeSafetensors(path, { rotated }, { signal: AbortSignal.abort() })).rejects.toThrow()
    const file = await SafetensorsFile.open(path)
    ;(await file.read('rotated', { dtype: 'float64' })).dispose()
    const controller = new AbortController()
    const reading = file.read('rotated', { signal: controller.signal })
    controller.abort()
    await expect(reading).rejects.toThrow()
    truncateSync(path, 200)
    await expect(file.read('rotated')).rejects.toThrow(SafetensorsError)
    await file.close()
    expect(memoryUse().liveTensors).toBe(before)
    rotated.dispose()
    wide.dispose()
  })

  it('gives the caller a tensor that a scope around the call does not free', async () => {
    const file = await SafetensorsFile.open(pythonFile)
    let reading: Promise<Tensor> | undefined
    scope(() => {
      reading = file.read('scalar')
    })
    const tensor = await reading!
    expect(tensor.item()).toBe(42)
    tensor.dispose()
    await file.close()
  })
})

describe('writing', () => {
  it('takes views, tied and trainable tensors', async () => {
    const path = join(temporaryDirectory(), 'model.safetensors')
    const base = Tensor.from(
      [
        [1, 2, 3],
        [4, 5, 6],
      ],
      { dtype: 'float32', requiresGrad: true },
    )
    await writeSafetensors(path, { base, tied: base, rotated: base.t(), row: base.at(1), column: base.at('all', 1) })
    const file = await SafetensorsFile.open(path)
    const list = async (name: string) => kept(await file.read(name)).tolist()
    expect(await list('base')).toEqual([
      [1, 2, 3],
      [4, 5, 6],
    ])
    expect(await list('tied')).toEqual([
      [1, 2, 3],
      [4, 5, 6],
    ])
    expect(await list('rotated')).toEqual([
      [1, 4],
      [2, 5],
      [3, 6],
    ])
    expect(await list('row')).toEqual([4, 5, 6])
    expect(await list('column')).toEqual([2, 5])
    await file.close()
    expect(base.requiresGrad).toBe(true)
    expect(base.isDisposed).toBe(false)
  })

  it('writes nothing when a tensor is disposed', async () => {
    const directory = temporaryDirectory()
    const gone = patterned('uint8', [1])
    gone.dispose()
    await expect(writeSafetensors(join(directory, 'x'), { gone })).rejects.toThrow(/disposed/)
    expect(readdirSync(directory)).toEqual([])
  })

  it('keeps the old file when aborted', async () => {
    const directory = temporaryDirectory()
    const path = join(directory, 'model.safetensors')
    writeFileSync(path, 'old')
    const controller = new AbortController()
    const tensors = { big: patterned('uint8', [9 << 20]) }
    const writing = writeSafetensors(path, tensors, {
      signal: controller.signal,
      onProgress: () => controller.abort(new Error('enough')),
    })
    await expect(writing).rejects.toThrow('enough')
    expect(readFileSync(path, 'utf8')).toBe('old')
    expect(readdirSync(directory)).toEqual(['model.safetensors'])
  })

  it.each(['__metadata__', '\ud800'])('refuses the name %j', async name => {
    const directory = temporaryDirectory()
    const writing = writeSafetensors(join(directory, 'x'), { [name]: patterned('uint8', [1]) })
    await expect(writing).rejects.toThrow(SafetensorsError)
    expect(readdirSync(directory)).toEqual([])
  })
})
