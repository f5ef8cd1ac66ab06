/** Checkpoints are looked at before a server reads them: what would end it, or leave it with a mixture, is not sent. */
import { cpSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { checkWeights } from '../../../src/rollout/remote/check-weights.js'
import { VllmServer } from '../../support/doubles/vllm-server.js'
import { temporaryDirectory } from '../../support/files.js'
import { fixture } from '../../support/models.js'
import { kinds, world } from '../../support/remote.js'

const model = fixture('qwen2')
const made: string[] = []
afterEach(() => {
  for (const path of made.splice(0)) rmSync(path, { recursive: true, force: true })
})

function copy(): string {
  const path = temporaryDirectory()
  made.push(path)
  cpSync(model, path, { recursive: true })
  return path
}

/** The same bytes under another header. */
function rewritten(change: (header: Record<string, { shape: number[] }>) => void): string {
  const path = copy()
  const file = join(path, 'model.safetensors')
  const bytes = readFileSync(file)
  const length = Number(bytes.readBigUInt64LE(0))
  const header = JSON.parse(bytes.subarray(8, 8 + length).toString())
  change(header)
  const text = Buffer.from(JSON.stringify(header))
  const size = Buffer.alloc(8)
  size.writeBigUInt64LE(BigInt(text.length))
  writeFileSync(file, Buffer.concat([size, text, bytes.subarray(8 + length)]))
  return path
}

const someName = 'model.norm.weight'

test('the same names, shapes and lengths are taken', async () => {
  await checkWeights(copy(), model)
})

test('another name, another shape, a file that ends early', async () => {
  const renamed = rewritten(header => {
    header.other = header[someName]!
    delete header[someName]
  })
  await expect(checkWeights(renamed, model)).rejects.toThrow(`it lacks the tensor ${someName}`)
  const reshaped = rewritten(header => {
    header[someName]!.shape.unshift(1)
  })
  await expect(checkWeights(reshaped, model)).rejects.toThrow(
    /model\.norm\.weight has the shape 1x\d+, in the served model \d+;/,
  )
  const short = copy()
  truncateSync(join(short, 'model.safetensors'), 5000)
  await expect(checkWeights(short, model)).rejects.toThrow(short)
  await expect(checkWeights('/no/such/place', model)).rejects.toThrow('/no/such/place')
})

test('no server is asked to load one that is wrong', async () => {
  // A version that takes any weights of this model, whose embeddings are tied.
  const kind = { ...kinds[0]!, serve: () => new VllmServer({ version: '0.31.0' }) }
  const { generator, server } = await world(kind, { modelDirectory: model })
  const directory = copy()
  rmSync(join(directory, 'model.safetensors'))
  await expect(generator.updateWeights({ version: 1, directory })).rejects.toThrow(directory)
  expect(server.count('/pause') + server.count('/collective_rpc')).toBe(0)
})
