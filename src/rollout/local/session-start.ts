/** How much of a session's kept tokens a new prompt begins with. Pure. */
import type { SessionTokens } from './blocks.js'

/** Number of tokens that both begin with. Where images or videos stand among them, all of the kept ones must be the same. */
export function commonStart(kept: SessionTokens, prompt: SessionTokens): number {
  const most = Math.min(kept.ids.length, prompt.ids.length)
  let count = 0
  while (count < most && kept.ids[count] === prompt.ids[count]) count++
  if (kept.media.length === 0)
    return prompt.media.some(({ runs }) => runs.some(({ start }) => start < count)) ? 0 : count
  const isSame = kept.media.every(({ pixels }, i) => pixels.hash === prompt.media[i]?.pixels.hash)
  const end = Math.max(...kept.media.flatMap(({ runs }) => runs.map(run => run.start + run.count)))
  return isSame && count >= end ? count : 0
}
