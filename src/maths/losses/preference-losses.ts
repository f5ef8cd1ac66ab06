/** All preference losses: on pairs, and on labelled responses. To add one, write a file and add a line here. */
import type { z } from 'zod'
import { definitionNamed } from '../definition.js'
import type { PreferenceLossDefinition } from './define-loss.js'
import { cdpo, dpo } from './preference/dpo.js'
import { ipo } from './preference/ipo.js'
import type { PreferenceLossResult, PreferencePair } from './preference.js'
import type { PairTotals } from './reward-model.js'

export const preferenceLosses = { dpo, cdpo, ipo } as const satisfies Record<string, PreferenceLossDefinition>

type PreferenceLossName = keyof typeof preferenceLosses

/** As a user writes them; `loss` says which, by its name or as a definition. */
export type PreferenceLossOptions =
  | {
      [L in PreferenceLossName]: { readonly loss: L } & Readonly<z.input<(typeof preferenceLosses)[L]['options']>>
    }[PreferenceLossName]
  | ({ readonly loss: PreferenceLossDefinition } & Readonly<Record<string, unknown>>)

/**
 * Direct preference optimisation and its relatives, the mean over the pairs of a batch.
 *
 * @example
 * const samples = [{ policyChosen: -10, policyRejected: -12, refChosen: -11, refRejected: -11 }]
 * preferenceLoss({ samples, totals: { pairs: 1 }, options: { loss: 'dpo', beta: 0.1 } }).value // 0.5981
 */
export function preferenceLoss(call: {
  samples: readonly PreferencePair[]
  totals: PairTotals
  options: PreferenceLossOptions
}): PreferenceLossResult {
  const { loss, ...options } = call.options
  const definition = definitionNamed<PreferenceLossDefinition>(loss, preferenceLosses, 'preference loss')
  return definition.compute({ ...call, options })
}
