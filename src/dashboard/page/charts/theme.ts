/** Colours of the style sheet, for canvases, which cannot name them. */
import { useEffect, useState } from 'preact/hooks'

export type ColourName = 'text' | 'dim' | 'line' | 'surface' | 'accent' | 'good' | 'bad' | 'warn' | `series-${number}`

/** How many `--series-N` there are. */
const seriesColours = 10

export function colour(name: ColourName): string {
  const probe = document.createElement('i')
  probe.style.color = `var(--${name})`
  document.body.append(probe)
  const found = getComputedStyle(probe).color
  probe.remove()
  return found
}

export const seriesColour = (place: number): ColourName => `series-${(place % seriesColours) + 1}`

/** `rgb(…)` with another opacity. */
export const faint = (rgb: string, opacity: number): string =>
  rgb.replace(/^rgba?\(([^,]+),([^,]+),([^,)]+).*$/, (_, r, g, b) => `rgba(${r},${g},${b},${opacity})`)

/** Changes when the theme does, so that canvases are drawn again. */
export function useTheme(): string {
  const [theme, setTheme] = useState(currentTheme)
  useEffect(() => {
    const read = () => setTheme(currentTheme())
    const dark = matchMedia('(prefers-color-scheme: dark)')
    dark.addEventListener('change', read)
    const observer = new MutationObserver(read)
    observer.observe(document.documentElement, { attributeFilter: ['data-theme'] })
    return () => {
      dark.removeEventListener('change', read)
      observer.disconnect()
    }
  }, [])
  return theme
}

const currentTheme = (): string =>
  document.documentElement.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')
