import { crc32, inflateSync } from 'node:zlib'

/** The pixels of a PNG of 8-bit red, green and blue with unfiltered rows; every checksum is looked at. */
export function decodePng(file: Buffer): { width: number; height: number; pixel: (x: number, y: number) => number[] } {
  if (file.toString('latin1', 1, 4) !== 'PNG') throw new Error('no PNG')
  const chunks = new Map<string, Buffer>()
  for (let at = 8; at < file.length; ) {
    const length = file.readUInt32BE(at)
    const body = file.subarray(at + 4, at + 8 + length)
    if (crc32(body) !== file.readUInt32BE(at + 8 + length)) throw new Error(`bad checksum at ${at}`)
    chunks.set(body.toString('latin1', 0, 4), body.subarray(4))
    at += 12 + length
  }
  if (!chunks.has('IEND')) throw new Error('cut short')
  const header = chunks.get('IHDR')!
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)]
  if (header.subarray(8).toString('hex') !== '0802000000') throw new Error('not 8-bit RGB')
  const rows = inflateSync(chunks.get('IDAT')!)
  if (rows.length !== height * (width * 3 + 1)) throw new Error('rows are missing')
  return { width, height, pixel: (x, y) => [...rows.subarray(y * (width * 3 + 1) + 1 + x * 3).subarray(0, 3)] }
}
