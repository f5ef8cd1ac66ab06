/** How strongly each token is coloured: from -1 to 1, where 0 is the neutral value of the number. Pure. */
import type { TokenNumber } from '../../api.js'
import { number } from '../format.js'

interface Strengths {
  readonly of: readonly number[]
  /** What the two ends of the scale stand for. */
  readonly low: string
  readonly high: string
}

/** A ratio of 1 means that nothing changed. */
const neutral: Readonly<Partial<Record<TokenNumber, number>>> = { ratio: 1 }

/** The largest difference from the neutral value has the full colour; of a log-probability, unlikely tokens stand out. */
export function strengths(name: TokenNumber, values: readonly (number | null)[]): Strengths {
  const middle = neutral[name] ?? 0
  const most = values.reduce(
    (sum: number, value) => (value === null ? sum : Math.max(sum, Math.abs(value - middle))),
    0,
  )
  return {
    of: values.map(value => (value === null || most === 0 ? 0 : (value - middle) / most)),
    low: number(middle - most),
    high: number(middle + most),
  }
}
