/** Guess a number. The session says whether it is higher or lower, as long as the limit of turns allows. */
import { defineEnvironment } from 'whetstone'

export default defineEnvironment<{ highest: number }>({
  name: 'guess the number',
  version: '1',
  open: async ({ row, messages }, { seed }) => {
    const hidden = 1 + (seed % row.highest)
    let [low, high] = [1, row.highest]
    return {
      start: async () => messages,
      step: async ({ text }) => {
        const guess = Number.parseInt(text, 10)
        if (guess === hidden) return { kind: 'done', reward: 1 }
        if (guess < hidden) low = Math.max(low, guess + 1)
        else if (guess > hidden) high = Math.min(high, guess - 1)
        const content = guess < hidden ? 'Higher.' : guess > hidden ? 'Lower.' : 'Say a number.'
        return { kind: 'go-on', messages: [{ role: 'user', content }] }
      },
      stateKey: () => `${low} ${high}`,
    }
  },
})
