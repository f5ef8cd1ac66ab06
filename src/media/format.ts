/** What the first bytes of a file say it is. */
import { MediaError } from './media-error.js'

type ImageFormat = 'jpeg' | 'png' | 'webp' | 'gif' | 'tiff'

const ascii = (bytes: Uint8Array, from: number, to: number): string =>
  String.fromCharCode(...bytes.subarray(from, Math.min(to, bytes.length)))

/** The format of an image that can be read, or undefined. */
export function imageFormat(bytes: Uint8Array): ImageFormat | undefined {
  const head = ascii(bytes, 0, 12)
  if (head.startsWith('\xff\xd8\xff')) return 'jpeg'
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'png'
  if (head.startsWith('RIFF') && head.endsWith('WEBP')) return 'webp'
  if (head.startsWith('GIF87a') || head.startsWith('GIF89a')) return 'gif'
  if (['II*\0', 'II+\0', 'MM\0*', 'MM\0+'].includes(head.slice(0, 4))) return 'tiff'
  return undefined
}

/** Whether it can only be one frame that becomes RGB exactly. Most files are that, and their header need not be read before. */
export function isPlain(bytes: Uint8Array): boolean {
  const format = imageFormat(bytes)
  return format === 'png' || (format === 'jpeg' && [1, 3].includes(jpegComponents(bytes) ?? 0))
}

/** Components of a pixel, by the first frame header: 1 (grey), 3 (YCbCr) or 4 (CMYK). */
function jpegComponents(bytes: Uint8Array): number | undefined {
  for (let at = 2; at + 9 < bytes.length && bytes[at] === 0xff; at += 2 + bytes[at + 2]! * 256 + bytes[at + 3]!) {
    const marker = bytes[at + 1]!
    // Between the frame headers are tables: C4 (Huffman), C8 and CC.
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) return bytes[at + 9]
  }
  return undefined
}

/** Formats that are recognised, to say why they are refused. */
function refusal(head: string): string | undefined {
  const brand = head.slice(4, 8) === 'ftyp' ? head.slice(8, 12) : undefined
  if (brand && /^(avi[fs]|mif1|msf1|he[iv][cfmsx])$/.test(brand))
    return 'it is an AVIF or HEIF image, whose decoders disagree on pixels'
  if (brand || head.startsWith('\x1a\x45\xdf\xa3')) return 'it is a video; give it as a video'
  if (head.startsWith('BM')) return 'it is a BMP image, which is not supported'
  if (head.startsWith('%PDF')) return 'it is a PDF, which is not supported'
  if (head.startsWith('\xff\x0a') || head.slice(4, 8) === 'JXL ') return 'it is a JPEG XL image, which is not supported'
  if (head.slice(4, 8) === 'jP  ') return 'it is a JPEG 2000 image, which is not supported'
  if (/^(\xef\xbb\xbf)?\s*<(\?xml|svg|!DOCTYPE)/i.test(head)) return 'it is an SVG or XML file, which is not supported'
  return undefined
}

const readable = 'expected JPEG, PNG, WebP, GIF or TIFF'

/** Why these bytes are no image that can be read. */
export function formatProblem(bytes: Uint8Array): MediaError {
  if (bytes.length === 0) return new MediaError('empty', `it has no bytes; ${readable}`)
  const head = ascii(bytes, 0, 64)
  return new MediaError('format', `${refusal(head) ?? 'it is not an image that can be read'}; ${readable}`)
}
