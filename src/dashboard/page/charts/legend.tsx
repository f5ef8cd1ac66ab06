/** What colours mean. */
import type { ColourName } from './theme.js'

export interface LegendProps {
  readonly items: readonly { readonly name: string; readonly colour: ColourName }[]
}

export function Legend({ items }: LegendProps) {
  return (
    <ul class="legend">
      {items.map(({ name, colour }) => (
        <li key={name}>
          <span class="swatch" style={{ background: `var(--${colour})` }} />
          {name}
        </li>
      ))}
    </ul>
  )
}
