import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { GgufError, GgufFile, importGguf } from '../../src/gguf/index.js'
import { type TypedValue, writeGguf } from '../../src/gguf/write-file.js'
import { plainTensor, type Rewrite, rewriteGguf } from '../support/gguf.js'
import { temporary } from '../support/models.js'

const fixtures = new URL('../fixtures/gguf', import.meta.url).pathname
const whole = await readFile(join(fixtures, 'qwen2.gguf'))

let count = 0
async function opened(bytes: Uint8Array): Promise<GgufFile> {
  const path = temporary(`${count++}.gguf`)
  await writeFile(path, bytes)
  return GgufFile.open(path)
}

const refusal = (bytes: Uint8Array): Promise<string> =>
  opened(bytes).then(
    async file => {
      await file.close()
      return 'opened'
    },
    (error: unknown) => (error instanceof GgufError ? error.message : `not for people: ${String(error)}`),
  )

function changed(at: number, write: (bytes: Buffer, at: number) => void): Buffer {
  const copy = Buffer.from(whole)
  write(copy, at)
  return copy
}

describe('a damaged file is refused with its reason', () => {
  test.each([
    ['empty', Buffer.alloc(0), /not a GGUF file: it has 0 bytes/],
    ['another format', Buffer.from(`PK${'.'.repeat(100)}`), /begins with "PK\.\."/],
    ['an old version', changed(4, (b, at) => b.writeUInt32LE(1, at)), /version 1 is not supported/],
    ['big-endian', changed(4, (b, at) => b.writeUInt32BE(3, at)), /big-endian/],
    ['a version to come', changed(4, (b, at) => b.writeUInt32LE(9, at)), /version 9 is not known/],
    ['absurdly many tensors', changed(8, (b, at) => b.writeBigUInt64LE(2n ** 60n, at)), /does not fit/],
    ['absurdly many keys', changed(16, (b, at) => b.writeBigUInt64LE(2n ** 63n, at)), /does not fit/],
    ['an absurd name', changed(24, (b, at) => b.writeBigUInt64LE(2n ** 40n, at)), /ends inside the name of key 0/],
    ['half of it', whole.subarray(0, 5000), /Is the download complete\?/],
    ['without its last byte', whole.subarray(0, whole.length - 64), /ends at byte .* Is the download complete/],
  ])('%s', async (_, bytes, message) => expect(await refusal(bytes)).toMatch(message))

  test('a directory and a missing file', async () => {
    await expect(GgufFile.open(fixtures)).rejects.toThrow(/not a regular file/)
    await expect(GgufFile.open(join(fixtures, 'none.gguf'))).rejects.toThrow(GgufError)
  })
})

test('no change of a head crashes or hangs', async () => {
  // The head of the fixture takes about half of it.
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.integer({ min: 0, max: 12_000 }), fc.integer({ min: 0, max: 255 })), {
        minLength: 1,
        maxLength: 8,
      }),
      fc.integer({ min: 0, max: whole.length }),
      async (changes, length) => {
        const bytes = Buffer.from(whole)
        for (const [at, value] of changes) bytes[at] = value
        expect(await refusal(length % 3 === 0 ? bytes.subarray(0, length) : bytes)).not.toMatch(/^not for people/)
      },
    ),
    { numRuns: 150 },
  )
})

describe('models in parts', () => {
  const part = async (stem: string, i: number, of: number, fields: Record<string, number> = {}): Promise<string> => {
    const path = temporary(`${stem}-0000${i + 1}-of-0000${of}.gguf`)
    const metadata = new Map<string, TypedValue>(
      Object.entries({ 'split.no': i, 'split.count': of, 'split.tensors.count': of, ...fields }).map(([key, value]) => [
        key,
        { u32: value },
      ]),
    )
    if (i === 0) metadata.set('general.name', { text: 'first' })
    await writeGguf(path, { metadata, tensors: [plainTensor(`t${i}`, [i, 2])] })
    return path
  }

  test('any part opens all of them', async () => {
    await part('good', 0, 2)
    const second = await part('good', 1, 2)
    await using file = await GgufFile.open(second)
    expect(file.names).toEqual(['t0', 't1'])
    expect(file.paths).toHaveLength(2)
    expect(file.metadata.get('general.name')).toBe('first')
    const values = new Float32Array(2)
    await file.readInto('t1', new Uint8Array(values.buffer), { dtype: 'float32' })
    expect([...values]).toEqual([1, 2])
  })

  test('a missing part, a wrong name and a wrong count are refused', async () => {
    await expect(GgufFile.open(await part('missing', 0, 2))).rejects.toThrow(/2 parts, and all of them are needed/)
    await part('named', 0, 2)
    await expect(GgufFile.open(await part('named', 1, 2, { 'split.no': 0 }))).rejects.toThrow(/its name says 2/)
    const alone = await part('counted', 0, 1, { 'split.count': 3 })
    await expect(GgufFile.open(alone)).rejects.toThrow(/one of 3 parts/)
    await part('total', 0, 2, { 'split.tensors.count': 5 })
    await expect(GgufFile.open(await part('total', 1, 2))).rejects.toThrow(/hold 2 tensors, and the model has 5/)
  })
})

describe('what a model must be', () => {
  /** The fixture with other keys. */
  const rewritten = async (name: string, fields: Rewrite['fields'] = {}, without: string[] = []) => {
    const path = temporary(`${name}.gguf`)
    await rewriteGguf(join(fixtures, 'qwen2.gguf'), path, { fields, without })
    return importGguf(path, { out: temporary(`${name}-model`) })
  }

  test('unchanged, it is imported', async () => {
    await expect(rewritten('same', {})).resolves.toMatchObject({ dtype: 'float32' })
  })

  test.each<[string, Record<string, TypedValue | undefined>, RegExp]>([
    [
      'another architecture',
      { 'general.architecture': { text: 'mamba' } },
      /"mamba" is not supported; supported are llama, qwen2/,
    ],
    ['an adapter', { 'general.type': { text: 'adapter' } }, /holds a adapter, not a model/],
    [
      'an unknown pre-tokenizer',
      { 'tokenizer.ggml.pre': { text: 'mine' } },
      /pre-tokenizer "mine".*is not known; known are gpt-2/,
    ],
    ['no pre-tokenizer', { 'tokenizer.ggml.pre': undefined }, /tokenizer.ggml.pre is missing/],
    ['another tokenizer', { 'tokenizer.ggml.model': { text: 'bert' } }, /"bert".*is not supported/],
    ['experts', { 'qwen2.expert_count': { u32: 8 } }, /qwen2.expert_count \(8\) is not supported/],
    ['scaled rope', { 'qwen2.rope.scaling.type': { text: 'yarn' } }, /"yarn" is not supported/],
    ['a sliding window', { 'qwen2.attention.sliding_window': { u32: 16 } }, /sliding window \(16\)/],
    ['rotated in part', { 'qwen2.rope.dimension_count': { u32: 4 } }, /rope.dimension_count 4 is not supported/],
    ['a missing number', { 'qwen2.block_count': undefined }, /qwen2.block_count should be a number, got nothing/],
    ['too many layers', { 'qwen2.block_count': { u32: 3 } }, /has no tensor blk.2/],
    ['another size', { 'qwen2.feed_forward_length': { u32: 96 } }, /has the sizes 64 x 32, expected 96 x 32/],
    ['a token twice', { 'tokenizer.ggml.tokens': { texts: Array<string>(272).fill('a') } }, /"a" is there twice/],
    ['too few types', { 'tokenizer.ggml.token_type': { i32s: [1] } }, /a number for each of the 272 tokens/],
    [
      'a merge of nothing',
      { 'tokenizer.ggml.merges': { texts: ['qq zz'] } },
      /the tokenizer in the file cannot be used/,
    ],
  ])('%s is refused', async (name, fields, message) => {
    await expect(rewritten(name, fields)).rejects.toThrow(message)
  })

  test('a missing and an unknown tensor are refused', async () => {
    await expect(rewritten('gone', {}, ['blk.1.attn_k.bias'])).rejects.toThrow(/has no tensor blk.1.attn_k.bias/)
  })
})
