import { PairHeap } from './pair-heap.js'

/*
 * Learning byte-level BPE merges. Our own because the tokenizers package for Node has no trainer that can be told a
 * vocabulary size. A generator, so that its caller decides how long it may hold the thread.
 */

interface BpeOptions {
  /** How many tokens to end with: the alphabet and one per merge. */
  readonly vocabSize: number
  /** A pair seen fewer times than this is not merged. */
  readonly minFrequency: number
}

export interface BpeModel {
  /** Tokens in the order of their ids: the alphabet, then what each merge made. */
  readonly tokens: readonly string[]
  readonly merges: readonly (readonly [left: string, right: string])[]
}

/**
 * Learns merges from word counts: again and again the most frequent pair of adjacent symbols becomes one symbol, ties
 * going to the pair that comes first in lexical order (left, then right), so the result depends on the counts alone and
 * not on the order of words or files. Yields the number of tokens so far, often.
 *
 * Pair counts are kept up to date from the words a merge touches, so a merge costs what it changes, not the corpus.
 */
export function* learnBpe(
  words: ReadonlyMap<string, number>,
  alphabet: readonly string[],
  { vocabSize, minFrequency }: BpeOptions,
): Generator<number, BpeModel> {
  const tokens = [...alphabet]
  const idOf = new Map(tokens.map((token, id) => [token, id]))
  const merges: [string, string][] = []

  const symbols: number[][] = []
  const counts: number[] = []
  for (const [word, count] of words) {
    if (symbols.length % 1024 === 0) yield tokens.length
    symbols.push(Array.from(word, letter => idOf.get(letter)!))
    counts.push(count)
  }

  // A pair is one number, left * vocabSize + right: exact up to 2 ** 53, and far cheaper to hash than a string.
  const pairCounts = new Map<number, number>()
  const wordsWith = new Map<number, Set<number>>()
  const heap = new PairHeap((a, b) => {
    const left = compare(tokens[Math.floor(a / vocabSize)]!, tokens[Math.floor(b / vocabSize)]!)
    return left !== 0 ? left : compare(tokens[a % vocabSize]!, tokens[b % vocabSize]!)
  })
  const add = (key: number, word: number, count: number) => {
    pairCounts.set(key, (pairCounts.get(key) ?? 0) + count)
    const set = wordsWith.get(key)
    if (set) set.add(word)
    else wordsWith.set(key, new Set([word]))
  }
  for (const [word, ids] of symbols.entries()) {
    if (word % 1024 === 0) yield tokens.length
    for (let i = 0; i + 1 < ids.length; i++) add(ids[i]! * vocabSize + ids[i + 1]!, word, counts[word]!)
  }
  for (const [key, count] of pairCounts) heap.push({ key, count })

  while (tokens.length < vocabSize) {
    const best = heap.pop()
    if (best === undefined || best.count < minFrequency) break
    const current = pairCounts.get(best.key) ?? 0
    if (current !== best.count) {
      if (current > 0 && current < best.count) heap.push({ key: best.key, count: current })
      continue
    }
    const left = Math.floor(best.key / vocabSize)
    const right = best.key % vocabSize
    const token = tokens[left]! + tokens[right]!
    merges.push([tokens[left]!, tokens[right]!])
    // Two ways to the same string share one token, as in every other BPE trainer.
    let id = idOf.get(token)
    if (id === undefined) {
      id = tokens.push(token) - 1
      idOf.set(token, id)
    }
    const grown = new Set<number>()
    for (const word of wordsWith.get(best.key)!) {
      const before = symbols[word]!
      const after = mergePair(before, left, right, id)
      if (after.length === before.length) continue
      symbols[word] = after
      const count = counts[word]!
      for (let i = 0; i + 1 < before.length; i++) {
        const key = before[i]! * vocabSize + before[i + 1]!
        pairCounts.set(key, pairCounts.get(key)! - count)
      }
      for (let i = 0; i + 1 < after.length; i++) {
        const key = after[i]! * vocabSize + after[i + 1]!
        add(key, word, count)
        if (after[i] === id || after[i + 1] === id) grown.add(key)
      }
    }
    pairCounts.delete(best.key)
    wordsWith.delete(best.key)
    for (const key of grown) heap.push({ key, count: pairCounts.get(key)! })
    yield tokens.length
  }
  return { tokens, merges }
}

/** Merges from the left, so that of three equal symbols in a row the first two go together. */
function mergePair(ids: readonly number[], left: number, right: number, merged: number): number[] {
  const out: number[] = []
  for (let i = 0; i < ids.length; i++) {
    if (ids[i] === left && ids[i + 1] === right) {
      out.push(merged)
      i++
    } else {
      out.push(ids[i]!)
    }
  }
  return out
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
