import { execFileSync } from 'node:child_process'
import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SafetensorsError, SafetensorsFile } from '../../src/tensor/safetensors/index.js'
import { temporaryDirectory } from '../support/files.js'
import { fileBytes, lengthPrefix, readAll } from '../support/safetensors-files.js'

const f32 = (start: number, end: number, shape: unknown = [(end - start) / 4]) => ({
  dtype: 'F32',
  shape,
  data_offsets: [start, end],
})
const data = (length: number) => Uint8Array.from({ length }, (_, i) => i + 1)

const valid = fileBytes(
  { __metadata__: { format: 'pt' }, b: f32(8, 16), a: f32(0, 8, [2, 1]), none: f32(8, 8, [0, 5]) },
  data(16),
)

const malformed: Record<string, [bytes: Uint8Array, message: RegExp, tensor?: string]> = {
  'an empty file': [new Uint8Array(), /has 0 bytes, too few/],
  'seven bytes': [valid.subarray(0, 7), /has 7 bytes, too few/],
  'only a length': [lengthPrefix(2n), /claims a header of 2 bytes but has only 0/],
  'an empty header': [lengthPrefix(0n), /does not begin with "\{"/],
  'a header beyond the file': [valid.subarray(0, 40), /but has only 32 after the length/],
  'a header over 100 MB': [lengthPrefix(100_000_001n), /more than the format's 100000000/],
  'a header length beyond 2^63': [lengthPrefix(2n ** 64n - 1n), /more than the format's/],
  'a header that is not UTF-8': [Buffer.concat([lengthPrefix(4n), Buffer.from('7b22ff7d', 'hex')]), /is not UTF-8/],
  'a byte-order mark': [fileBytes('\ufeff{}'), /does not begin with "\{"/],
  'leading spaces': [fileBytes(' {}'), /does not begin with "\{"/],
  'a header that is not JSON': [fileBytes('{"a":}'), /the header is not JSON/],
  'an unclosed string': [fileBytes('{"a'), /the header is not JSON/],
  'a string that ends in a backslash': [fileBytes('{"a\\'), /the header is not JSON/],
  'text after the object': [fileBytes('{}{}'), /the header is not JSON/],
  'endless nesting': [fileBytes(`{"a":${'['.repeat(100_000)}`), /nested more than 16 levels/],
  'a list for a header': [fileBytes('[]'), /does not begin with "\{"/],
  'a tensor twice': [
    fileBytes('{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{}}'),
    /has the key "a" twice/,
  ],
  'a tensor twice, once escaped': [fileBytes('{"a":{}, "\\u0061" : {}}'), /has the key "a" twice/],
  'a field twice': [fileBytes('{"a":{"dtype":"U8","dtype":"I8"}}'), /has the key "dtype" twice/],
  'a metadata key twice': [fileBytes('{"__metadata__":{"a":"1","a":"2"}}'), /has the key "a" twice/],
  'half a surrogate pair': [fileBytes('{"\\ud800":{}}'), /not Unicode text/],
  'an entry that is a list': [fileBytes({ w: [] }), /entry in the header is not an object/, 'w'],
  'an entry that is null': [fileBytes({ w: null }), /entry in the header is not an object/, 'w'],
  'no dtype': [fileBytes({ w: { shape: [0], data_offsets: [0, 0] } }), /dtype undefined is not supported/, 'w'],
  'an 8-bit float': [
    fileBytes({ w: { ...f32(0, 4), dtype: 'F8_E4M3' } }, data(4)),
    /dtype "F8_E4M3" is not supported/,
    'w',
  ],
  'a dtype from the prototype': [
    fileBytes({ w: { ...f32(0, 4), dtype: 'constructor' } }, data(4)),
    /"constructor"/,
    'w',
  ],
  'no shape': [fileBytes({ w: { dtype: 'F32', data_offsets: [0, 4] } }, data(4)), /shape undefined/, 'w'],
  'a negative size': [fileBytes({ w: f32(0, 4, [-1]) }, data(4)), /shape \[-1\]/, 'w'],
  'two negative sizes': [fileBytes({ w: f32(0, 4, [-1, -1]) }, data(4)), /shape \[-1,-1\]/, 'w'],
  'a fractional size': [fileBytes({ w: f32(0, 4, [0.5, 2]) }, data(4)), /shape \[0.5,2\]/, 'w'],
  'a size in quotes': [fileBytes({ w: f32(0, 4, ['1']) }, data(4)), /shape \["1"\]/, 'w'],
  'a size past 2^53': [fileBytes('{"w":{"dtype":"U8","shape":[9007199254740993],"data_offsets":[0,0]}}'), /shape/, 'w'],
  'a product past 2^53': [fileBytes({ w: f32(0, 4, [2 ** 40, 2 ** 40]) }, data(4)), /too many elements/, 'w'],
  'a product past 2^53, times 0': [fileBytes({ w: f32(0, 0, [2 ** 40, 2 ** 40, 0]) }), /too many elements/, 'w'],
  'no offsets': [fileBytes({ w: { dtype: 'F32', shape: [1] } }, data(4)), /data_offsets undefined/, 'w'],
  'one offset': [fileBytes({ w: { ...f32(0, 4), data_offsets: [4] } }, data(4)), /data_offsets \[4\]/, 'w'],
  'three offsets': [fileBytes({ w: { ...f32(0, 4), data_offsets: [0, 4, 8] } }, data(4)), /data_offsets/, 'w'],
  'fractional offsets': [fileBytes({ w: { ...f32(0, 4), data_offsets: [0.5, 4.5] } }, data(4)), /data_offsets/, 'w'],
  'negative offsets': [fileBytes({ w: { ...f32(0, 4), data_offsets: [-4, 0] } }, data(4)), /data_offsets/, 'w'],
  'offsets backwards': [fileBytes({ w: { ...f32(0, 4), data_offsets: [4, 0] } }, data(4)), /spans -4/, 'w'],
  'a span that is not the shape': [fileBytes({ w: f32(0, 8, [3]) }, data(8)), /takes 12 bytes, but .* spans 8/, 'w'],
  'offsets past the end': [fileBytes({ v: f32(0, 4), w: f32(4, 12) }, data(8)), /end at 12, but the file holds 8/, 'w'],
  'overlapping tensors': [fileBytes({ v: f32(0, 8), w: f32(4, 12) }, data(12)), /4\.\.12 overlap/, 'w'],
  'the same bytes twice': [fileBytes({ v: f32(0, 8), w: f32(0, 8) }, data(8)), /0\.\.8 overlap/, 'w'],
  'an empty tensor inside another': [fileBytes({ v: f32(0, 8), w: f32(4, 4, [0]) }, data(8)), /4\.\.4 overlap/, 'w'],
  'a hole': [fileBytes({ v: f32(0, 4), w: f32(8, 12) }, data(12)), /bytes 4\.\.8 before it belong to no tensor/, 'w'],
  'a hole at the start': [fileBytes({ w: f32(4, 8) }, data(8)), /bytes 0\.\.4 before it/, 'w'],
  'bytes after the last tensor': [fileBytes({ w: f32(0, 4) }, data(5)), /the last 1 of 5 bytes/],
  'data without tensors': [fileBytes({}, data(5)), /the last 5 of 5 bytes/],
  'metadata that is a list': [fileBytes({ __metadata__: [] }), /__metadata__ is not an object/],
  'metadata that is null': [fileBytes({ __metadata__: null }), /__metadata__ is not an object/],
  'a number in the metadata': [fileBytes({ __metadata__: { epoch: 3 } }), /"epoch" that is not a string/],
  'a bool of 2': [
    fileBytes({ w: { dtype: 'BOOL', shape: [2], data_offsets: [0, 2] } }, data(2)),
    /neither 0 nor 1/,
    'w',
  ],
}

describe('a malformed file is an error that names the file and the tensor', () => {
  it.each(Object.entries(malformed))('%s', async (_, [bytes, message, tensor]) => {
    const path = join(temporaryDirectory(), 'model.safetensors')
    const error = await readAll(path, bytes).catch(e => e)
    expect(error).toBeInstanceOf(SafetensorsError)
    expect(error.message).toMatch(message)
    expect(error.message).toContain(path)
    expect([error.file, error.tensor]).toEqual([path, tensor])
    if (tensor !== undefined) expect(error.message).toContain(`tensor "${tensor}"`)
  })

  it('cut at every length', async () => {
    const path = join(temporaryDirectory(), 'model.safetensors')
    await expect(readAll(path, valid)).resolves.toBeDefined()
    for (let length = 0; length < valid.length; length++) {
      await expect(readAll(path, valid.subarray(0, length)), `${length} bytes`).rejects.toThrow(SafetensorsError)
    }
  })

  it('cut while it is open', async () => {
    const path = join(temporaryDirectory(), 'model.safetensors')
    writeFileSync(path, valid)
    const file = await SafetensorsFile.open(path)
    truncateSync(path, valid.length - 1)
    await expect(file.readInto('b', new Uint8Array(8))).rejects.toThrow(/tensor "b": the file ended early/)
    await file.close()
    await expect(file.readInto('a', new Uint8Array(8))).rejects.toThrow(SafetensorsError)
  })

  it('a directory, a missing file, a named pipe', async () => {
    const directory = temporaryDirectory()
    await expect(SafetensorsFile.open(directory)).rejects.toThrow(SafetensorsError)
    await expect(SafetensorsFile.open(join(directory, 'none'))).rejects.toThrow(SafetensorsError)
    if (process.platform === 'win32') return
    execFileSync('mkfifo', [join(directory, 'pipe')])
    await expect(SafetensorsFile.open(join(directory, 'pipe'))).rejects.toThrow(/not a regular file/)
  })
})

describe('unusual files that are right', () => {
  it('names and metadata keys that objects inherit', async () => {
    const path = join(temporaryDirectory(), 'model.safetensors')
    const entry = (at: number) => `{"dtype":"U8","shape":[1],"data_offsets":[${at},${at + 1}]}`
    const header = `{"__metadata__":{"__proto__":"x"},"__proto__":${entry(1)},"constructor":${entry(0)},"":${entry(2)}}`
    const contents = await readAll(path, fileBytes(header, data(3)))
    expect([...contents].map(([name, [byte]]) => [name, byte])).toEqual([
      ['constructor', 1],
      ['__proto__', 2],
      ['', 3],
    ])
    const file = await SafetensorsFile.open(path)
    expect(Object.entries(file.metadata)).toEqual([['__proto__', 'x']])
    expect(file.metadata.constructor).toBeUndefined()
    expect(() => file.info('toString')).toThrow(/has no tensor "toString"/)
    await file.close()
  })

  it('no tensors, padding, unknown fields', async () => {
    const path = join(temporaryDirectory(), 'model.safetensors')
    expect((await readAll(path, fileBytes('{}      \n'))).size).toBe(0)
    const extended = { w: { ...f32(0, 4), later: { nested: ['dtype', 'dtype'] } } }
    expect((await readAll(path, fileBytes(extended, data(4)))).get('w')).toEqual(data(4))
  })
})

type Mutation = (bytes: Uint8Array) => Uint8Array

const position = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  fc.tuple(position, fc.nat(255)).map(
    ([at, byte]): Mutation =>
      b =>
        b.with(Math.floor(at * b.length), byte),
  ),
  fc.tuple(position, fc.nat(7)).map(
    ([at, bit]): Mutation =>
      b => {
        const i = Math.floor(at * b.length)
        return b.with(i, b[i]! ^ (1 << bit))
      },
  ),
  fc.tuple(position, fc.uint8Array({ maxLength: 9 })).map(
    ([at, extra]): Mutation =>
      b => {
        const i = Math.floor(at * b.length)
        return Buffer.concat([b.subarray(0, i), extra, b.subarray(i)])
      },
  ),
  fc.tuple(position, fc.integer({ min: 1, max: 12 })).map(
    ([at, count]): Mutation =>
      b => {
        const i = Math.floor(at * b.length)
        return Buffer.concat([b.subarray(0, i), b.subarray(i + count)])
      },
  ),
  // Digits for digits: the mutations most likely to give a header that parses and lies.
  fc.tuple(position, fc.nat(9)).map(
    ([at, digit]): Mutation =>
      b => {
        const digits = [...b.keys()].filter(i => b[i]! >= 0x30 && b[i]! <= 0x39)
        return digits.length === 0 ? b : b.with(digits[Math.floor(at * digits.length)]!, 0x30 + digit)
      },
  ),
)

describe('fuzzed files', () => {
  const python = new Uint8Array(readFileSync(new URL('../fixtures/safetensors/python.safetensors', import.meta.url)))

  it.each([
    ['small', valid],
    ['from Python', python],
  ])('%s: mutated bytes give a SafetensorsError or tensors that tile the data exactly', async (_, original) => {
    const path = join(temporaryDirectory(), 'model.safetensors')
    await fc.assert(
      fc.asyncProperty(fc.array(mutation, { minLength: 1, maxLength: 3 }), async mutations => {
        const bytes = mutations.reduce<Uint8Array>(
          (b, mutate) => (b.length === 0 ? b : mutate(b)),
          Uint8Array.from(original),
        )
        let contents: Map<string, Uint8Array>
        try {
          contents = await readAll(path, bytes)
        } catch (error) {
          expect(error).toBeInstanceOf(SafetensorsError)
          return
        }
        const headerBytes = Number(Buffer.from(bytes).readBigUInt64LE())
        expect(Buffer.concat([...contents.values()])).toEqual(Buffer.from(bytes.subarray(8 + headerBytes)))
      }),
      { numRuns: 500 },
    )
  })

  it('mutated data changes the tensor it belongs to and nothing else', async () => {
    const path = join(temporaryDirectory(), 'model.safetensors')
    const before = await readAll(path, valid)
    await fc.assert(
      fc.asyncProperty(fc.nat(15), fc.nat(255), async (at, byte) => {
        const after = await readAll(path, Uint8Array.from(valid).with(valid.length - 16 + at, byte))
        const [changed, at0] = at < 8 ? ['a', at] : ['b', at - 8]
        for (const [name, content] of before) {
          expect(after.get(name)).toEqual(name === changed ? content.with(at0, byte) : content)
        }
      }),
      { numRuns: 50 },
    )
  })
})
