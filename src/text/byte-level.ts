/** Byte-level tokenizers (GPT-2, Llama 3, Qwen): a token is bytes, each written as a printable character. */
import { isObject } from './json.js'

/**
 * The printable character byte-level tokenizers write for each byte: printable Latin-1 stands for itself, the rest
 * follow from U+0100 on. Part of the file format.
 */
export const BYTE_CHARACTERS: readonly string[] = (() => {
  const printable = (byte: number) =>
    (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff)
  let next = 0x100
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(printable(byte) ? byte : next++))
})()

const byteOf = new Map(BYTE_CHARACTERS.map((character, byte) => [character, byte]))
const encoder = new TextEncoder()
const strictDecoder = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true })

export function toByteCharacters(text: string): string {
  let out = ''
  for (const byte of encoder.encode(text)) out += BYTE_CHARACTERS[byte]!
  return out
}

/** The bytes of a token. One with any other character in it, such as an added token with a space, is its own text. */
function fromByteCharacters(token: string): Uint8Array {
  const bytes = Array.from(token, character => byteOf.get(character))
  return bytes.every(byte => byte !== undefined) ? Uint8Array.from(bytes) : encoder.encode(token)
}

/** Whether a `decoder` of a `tokenizer.json` joins the bytes of tokens, and does nothing else. */
export function isByteLevel(decoder: unknown): boolean {
  if (!isObject(decoder)) return false
  const { type, decoders } = decoder
  if (type === 'Sequence') return Array.isArray(decoders) && decoders.length === 1 && isByteLevel(decoders[0])
  return type === 'ByteLevel'
}

/** Text, or bytes that are not whole characters. */
type Piece = string | Uint8Array

export class ByteLevelTokens {
  private readonly all = new Map<number, Piece>()
  private readonly withoutSpecial = new Map<number, Piece>()

  constructor(
    private readonly tokenOf: (id: number) => string | undefined,
    private readonly special: ReadonlySet<string>,
  ) {}

  /** What a token stands for: nothing where there is no such token, or a special one to be skipped. */
  pieceOf(id: number, { skipSpecialTokens }: { skipSpecialTokens: boolean }): Piece {
    const known = skipSpecialTokens ? this.withoutSpecial : this.all
    let piece = known.get(id)
    if (piece === undefined) {
      const token = this.tokenOf(id)
      piece = token === undefined || (skipSpecialTokens && this.special.has(token)) ? '' : pieceOfToken(token)
      known.set(id, piece)
    }
    return piece
  }
}

function pieceOfToken(token: string): Piece {
  const bytes = fromByteCharacters(token)
  try {
    return strictDecoder.decode(bytes)
  } catch {
    return bytes
  }
}
