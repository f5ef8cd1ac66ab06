/** Damaged files give an outcome: never a crash, never a hang. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { MediaProcessor, readMediaConfig } from '../../src/media/index.js'

const folder = fileURLToPath(new URL('../fixtures/media', import.meta.url))
const config = await readMediaConfig(join(folder, 'qwen2_5_vl'), 'qwen2_5_vl')
const media = new MediaProcessor({ config, cacheBytes: 0, limits: { maxPixels: 1_000_000, timeoutSeconds: 5 } })

/** The same numbers in every run. */
function random(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

function mutated(bytes: Uint8Array, next: (below: number) => number): Buffer {
  const copy = Buffer.from(bytes)
  switch (next(4)) {
    case 0:
      return copy.subarray(0, next(copy.length))
    case 1: {
      const at = next(copy.length)
      return Buffer.concat([copy.subarray(0, at), copy.subarray(at + next(40))])
    }
    case 2: {
      const at = next(copy.length)
      return Buffer.concat([copy.subarray(0, at), Buffer.from([next(256), next(256), next(256)]), copy.subarray(at)])
    }
    default:
      for (let i = 0; i <= next(8); i++) copy[next(copy.length)] = next(256)
      return copy
  }
}

const files = [
  'rgb.png',
  'palette.png',
  '420.jpg',
  'progressive.jpg',
  'lossy.webp',
  'lossless.webp',
  'animated.gif',
  'animated.webp',
]
const kinds = new Set(['empty', 'format', 'damaged', 'limit', 'shape'])

test('500 mutations of files give media or a reason', async () => {
  const next = random(7)
  const counts = { media: 0, failed: 0 }
  const one = async (bytes: Buffer, isVideo: boolean) => {
    const found = await media.prepare(isVideo ? { videos: { bytes } } : { images: bytes })
    counts[found.kind]++
    if (found.kind === 'failed' && !isVideo) expect(kinds, found.message).toContain(found.reason)
  }
  for (let round = 0; round < 500; round += 20)
    await Promise.all(
      Array.from({ length: 20 }, (_, i) => {
        const name = files[(round + i) % files.length]!
        return one(mutated(readFileSync(join(folder, name)), next), name.startsWith('animated'))
      }),
    )
  expect(counts.media + counts.failed).toBe(500)
  // Both happen, or the mutations test nothing.
  expect(Math.min(counts.media, counts.failed)).toBeGreaterThan(50)
})
