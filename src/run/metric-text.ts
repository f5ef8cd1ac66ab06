/** Values of metrics as people read them: bytes as MB, seconds as durations, noise near 0 as 0. */
import { bytesText, numberText, secondsText } from '../progress/index.js'
import { unitOf } from './metric-names.js'

/**
 * @example
 * metricText('memory/rss', 1.234e9) // 1.2 GB
 */
export function metricText(name: string, value: number, digits = 4): string {
  const unit = unitOf(name)
  if (unit === 'bytes') return bytesText(value)
  if (unit === 's') return secondsText(value)
  if (unit === 'tokens/s') return `${numberText(Math.round(value))} tokens/s`
  return numberText(value, digits)
}
