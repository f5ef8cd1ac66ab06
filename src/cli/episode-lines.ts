/** An episode for a terminal, and as JSON. */

import { episodeSequences } from '../environment/index.js'
import { numberText } from '../progress/index.js'
import { origins, type Sequence } from '../sequence/index.js'
import type { TriedEpisode } from '../train/index.js'

interface Shown {
  /** `each`: every token by itself. */
  readonly tokens: 'joined' | 'each'
  readonly colour: 'yes' | 'no'
}

/** What was sampled begins with `>`, what was read with `|`. */
export async function episodeLines(tried: TriedEpisode, { tokens, colour }: Shown): Promise<string[]> {
  const { tokenizer } = tried
  const lines = [heading(tried)]
  for (const [segment, sequence] of sequencesOf(tried).entries()) {
    if (segment > 0) lines.push('  a new sequence: the chat template rewrote the conversation')
    for (const { from, to, origin } of runsOf(sequence)) {
      const ids = sequence.ids.subarray(from, to)
      const sampled = origin === origins.sampled
      const what = sampled ? 'sampled, trained' : origin === origins.prompt ? 'prompt' : 'observation, not trained'
      lines.push(`  ${what}: ${ids.length} ${ids.length === 1 ? 'token' : 'tokens'}`)
      const parts = tokens === 'each' ? Array.from(ids, id => Int32Array.of(id)) : [ids]
      const texts = await Promise.all(parts.map(part => tokenizer.decode(part)))
      const text = tokens === 'each' ? texts.map(one => `[${visible(one)}]`).join('') : printable(texts.join(''))
      for (const line of text.replace(/\n$/, '').split('\n')) {
        const marked = `  ${sampled ? '>' : '|'} ${line}`
        lines.push(colour === 'yes' ? `\u001b[${sampled ? 32 : 2}m${marked}\u001b[0m` : marked)
      }
    }
  }
  return [...lines, '']
}

/** Everything of it, for programs. */
export function episodeJson(tried: TriedEpisode): object {
  const { promptId, sample, outcome, reward } = tried
  const turns = turnsOf(tried)
  return {
    promptId,
    sample,
    outcome: outcome.kind,
    ...('episode' in outcome ? { stop: outcome.episode.stop } : {}),
    ...('message' in outcome ? { message: outcome.message } : {}),
    reward: reward?.kind === 'scored' ? reward.reward : null,
    messages: turns.flatMap(({ messages, message }) => [...messages, message]),
    turns: turns.map(({ length, calls, reward: given, stateKey }) => ({
      tokens: length,
      calls,
      reward: given,
      stateKey,
    })),
    sequences: sequencesOf(tried).map(({ ids, trained }) => ({ ids: [...ids], trained: [...trained] })),
  }
}

const turnsOf = ({ outcome }: TriedEpisode) =>
  'episode' in outcome ? outcome.episode.turns : outcome.kind === 'failed' ? (outcome.turns ?? []) : []

const sequencesOf = (tried: TriedEpisode): Sequence[] =>
  episodeSequences({ turns: turnsOf(tried) }, { promptId: tried.promptId, row: {} })

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

function heading(tried: TriedEpisode): string {
  const { promptId, sample, outcome, reward } = tried
  const name = `${printable(promptId)}, sample ${sample}`
  const turns = turnsOf(tried)
  const calls = turns.reduce((sum, turn) => sum + turn.calls.length, 0)
  const wrong = turns.flatMap(turn => turn.calls).filter(({ status }) => status !== 'ok').length
  const counts = `${counted(turns.length, 'turn')}, ${counted(calls, 'call')}${wrong > 0 ? ` (${wrong} wrong)` : ''}`
  if (!('episode' in outcome)) {
    const at = outcome.kind === 'failed' ? ` in ${outcome.at}` : ''
    return `${name}: ${outcome.kind}${at}: ${printable(outcome.message)}; ${counts}`
  }
  const scored =
    reward?.kind === 'scored'
      ? `reward ${numberText(reward.reward)}`
      : `no reward: ${printable(reward?.message ?? 'none')}`
  const why = outcome.kind === 'unscorable' ? `: ${printable(outcome.message)}` : ''
  return `${name}: ${outcome.kind} (${outcome.episode.stop})${why}, ${scored}, ${counts}`
}

function runsOf({ origin }: Sequence): { from: number; to: number; origin: number }[] {
  const runs: { from: number; to: number; origin: number }[] = []
  for (const [i, one] of origin.entries()) {
    const last = runs.at(-1)
    if (last?.origin === one) last.to = i + 1
    else runs.push({ from: i, to: i + 1, origin: one })
  }
  return runs
}

/** Control codes of a model or a tool do not reach a terminal. */
const printable = (text: string): string => text.replace(/(?![\n\t])\p{Cc}/gu, '?')
const visible = (text: string): string => text.replace(/\n/g, '\\n').replace(/\p{Cc}/gu, '?')
