/** The tokens of a response, coloured by one of their numbers; hover or arrow keys show all of them. */
import { useState } from 'preact/hooks'
import { type TokenNumber, type TokensAnswer, tokenNumbers } from '../../api.js'
import { number } from '../format.js'
import { useAnswer, useRemembered } from '../hooks.js'
import { Loading } from './common.js'
import { strengths } from './token-colours.js'

const titles: Readonly<Record<TokenNumber, string>> = {
  ...{ advantage: 'advantage', logprob: 'log-probability', entropy: 'entropy', kl: 'KL', ratio: 'ratio' },
  ...{ gap: 'gap between engine and trainer', value: 'value', return: 'return' },
}

export function Tokens({ run, id }: { readonly run: string; readonly id: string }) {
  const route = 'GET /api/runs/:run/samples/:sample/tokens'
  const { answer, error } = useAnswer({ route, parts: { run, sample: id } })
  const [wanted, setBy] = useRemembered('token-colour', 'advantage')
  const [at, setAt] = useState<number>()
  if (!answer) return <Loading error={error} />
  const { tokens, promptTokens, numbers, missing, notes, source, sampled } = answer
  const by = (numbers[wanted as TokenNumber] ? wanted : tokenNumbers.find(name => numbers[name])) as
    | TokenNumber
    | undefined
  const colours = by === undefined ? undefined : strengths(by, numbers[by]!)
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    setAt(Math.min(tokens.length - 1, Math.max(0, (at ?? -1) + step)))
  }
  return (
    <div class="stack">
      <section class="row" aria-label="Colour tokens by">
        {tokenNumbers.map(name => (
          <button
            key={name}
            type="button"
            aria-pressed={by === name}
            disabled={!numbers[name]}
            title={missing[name]}
            onClick={() => setBy(name)}
          >
            {titles[name]}
          </button>
        ))}
      </section>
      {colours && (
        <p class="row small dim">
          {colours.low} <span class="scale" /> {colours.high}
        </p>
      )}
      <div class="token-numbers small" aria-live="polite">
        {at === undefined || !tokens[at] ? (
          <span class="dim">Point at a token, or move through them with the arrow keys, to see its numbers.</span>
        ) : (
          <TokenNumbers answer={answer} at={at} />
        )}
      </div>
      <section
        class="tokens mono"
        tabIndex={0}
        aria-label="Tokens"
        onKeyDown={onKeyDown}
        onMouseMove={event => {
          const place = (event.target as HTMLElement).dataset.place
          if (place !== undefined) setAt(Number(place))
        }}
      >
        <span class="dim">{promptTokens.map(({ text }) => text).join('')}</span>
        {tokens.map(({ text }, place) => {
          const strength = colours?.of[place] ?? 0
          return (
            <span
              key={place}
              data-place={place}
              class={`token ${sampled?.[place] === 0 ? 'read' : strength < 0 ? 'less' : 'more'} ${at === place ? 'here' : ''}`}
              style={{ '--strength': Math.abs(strength).toFixed(3) }}
            >
              {visible(text)}
            </span>
          )
        })}
      </section>
      <p class="dim small">
        {source === 'trajectory'
          ? 'The numbers are those that the run saved.'
          : 'The numbers are derived from the journal, as a replay does it.'}
      </p>
      {sampled && (
        <p class="dim small">
          Tokens in grey italics were read by the policy, not sampled: nothing of them is trained.
        </p>
      )}
      {Object.entries(notes).map(([name, why]) => (
        <p key={name} class="dim small">
          {titles[name as TokenNumber]}: {why}
        </p>
      ))}
      {byReason(missing).map(([why, names]) => (
        <p key={why} class="dim small">
          No {names.join(', ')}: {why}
        </p>
      ))}
    </div>
  )
}

function TokenNumbers({ answer, at }: { readonly answer: TokensAnswer; readonly at: number }) {
  const { id, text } = answer.tokens[at]!
  const known = tokenNumbers.filter(name => answer.numbers[name])
  return (
    <>
      <div>
        token {at + 1} of {answer.tokens.length}: <code>{JSON.stringify(text)}</code>, id {id}
        {answer.sampled?.[at] === 0 && ', read and not sampled'}
      </div>
      <div class="row">
        {known.map(name => (
          <span key={name}>
            <span class="dim">{titles[name]}</span> {number(answer.numbers[name]![at])}
          </span>
        ))}
      </div>
    </>
  )
}

/** Several numbers may be missing for one reason. */
function byReason(missing: TokensAnswer['missing']): [string, string[]][] {
  const reasons = new Map<string, string[]>()
  for (const [name, why] of Object.entries(missing))
    reasons.set(why, [...(reasons.get(why) ?? []), titles[name as TokenNumber]])
  return [...reasons]
}

/** A token that is only a line break is seen as one. */
const visible = (text: string): string => text.replace(/\n/g, '↵\n')
