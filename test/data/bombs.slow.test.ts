import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { dataFolder } from '../support/data.js'

const { open, write } = dataFolder()

describe('a file that is made to fill the memory', () => {
  it('of gzip is refused at a thousand times its size', async () => {
    // Zeros are at the limit of what gzip can do: 1,032 times.
    const bomb = gzipSync(Buffer.alloc(400e6), { level: 9 })
    write('bomb.jsonl.gz', bomb)
    const before = process.memoryUsage.rss()
    await expect(open('conversations', 'bomb.jsonl.gz')).rejects.toThrow(
      /bomb\.jsonl\.gz: unpacks to more than 1000 times its size/,
    )
    expect(process.memoryUsage.rss() - before).toBeLessThan(250e6)
  })

  it('of Zstandard is unpacked a block at a time', async () => {
    // A frame without a size: 100,000 blocks of one repeated byte, 128 KiB each.
    const header = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0x58])
    const block = Buffer.from([(2 | (131_072 << 3)) & 255, ((131_072 << 3) >> 8) & 255, (131_072 << 3) >> 16, 65])
    write('bomb.jsonl.zst', Buffer.concat([header, ...Array.from({ length: 100_000 }, () => block)]))
    await expect(open('conversations', 'bomb.jsonl.zst')).rejects.toThrow(/unpacks to more than 1000 times its size/)
  })
})
