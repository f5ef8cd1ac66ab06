/** What the first bytes of a file say it is. */
import { MediaError } from './media-error.js'

export type ImageFormat = 'jpeg' | 'png' | 'webp' | 'gif' | 'tiff'

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

/** Formats that are recognised, to say why they are refused. */
function refusal(head: string): string | undefined {
  const brand = head.slice(4, 8) === 'ftyp' ? head.slice(8, 12) : undefined
  if (brand && /^(avi[fs]|mif1|msf1|he[iv][cfmsx])$/.test(brand))
    return 'it is an AVIF or HEIF image, whose decoders disagree on pixels'
  if (brand || head.startsWith('\x1a\x45\xdf\xa3')) return 'it is a video; give it as a video'
  if (head.startsWith('BM')) return 'it is a BMP image, which is not read'
  if (head.startsWith('%PDF')) return 'it is a PDF, which is not read'
  if (head.startsWith('\xff\x0a') || head.slice(4, 8) === 'JXL ') return 'it is a JPEG XL image, which is not read'
  if (head.slice(4, 8) === 'jP  ') return 'it is a JPEG 2000 image, which is not read'
  if (/^(\xef\xbb\xbf)?\s*<(\?xml|svg|!DOCTYPE)/i.test(head)) return 'it is an SVG or XML file, which is not read'
  return undefined
}

const readable = 'expected JPEG, PNG, WebP, GIF or TIFF'

/** Why these bytes are no image that can be read. */
export function formatProblem(bytes: Uint8Array): MediaError {
  if (bytes.length === 0) return new MediaError('empty', `it has no bytes; ${readable}`)
  const head = ascii(bytes, 0, 64)
  return new MediaError('format', `${refusal(head) ?? 'it is not an image that can be read'}; ${readable}`)
}
