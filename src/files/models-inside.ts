import { readdirSync } from 'node:fs'
import { join } from 'node:path'

/**
 * For who names what is around models, such as a run: `; it holds models: did you mean runs/a/best_model or runs/a/final_model?`.
 * Nothing where there are none.
 */
export function modelsInside(directory: string): string {
  const found = entriesOf(directory)
    .map(name => join(directory, name))
    .filter(path => entriesOf(path).some(name => name.endsWith('.safetensors')))
  return found.length === 0 ? '' : `; it holds models: did you mean ${found.join(' or ')}?`
}

function entriesOf(directory: string): string[] {
  try {
    return readdirSync(directory).sort()
  } catch {
    return []
  }
}
