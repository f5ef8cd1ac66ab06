/** What a person should know of a rollout before it is trained on: in the log for every iteration, on the terminal once for each cause. */
import type { ExperienceBatch } from '../../experience/index.js'
import type { Run } from '../../run/index.js'
import type { TrainProgress } from '../run/progress.js'

interface RolloutWarningsOptions {
  readonly run: Run
  readonly progress: TrainProgress
  readonly promptMaxLen: number | undefined
}

export function rolloutWarnings({ run, progress, promptMaxLen }: RolloutWarningsOptions) {
  let longPromptsTold = false
  let mediaTold = false

  return ({ experiences, info, dropped }: ExperienceBatch, iteration: number): void => {
    if (experiences.length === 0) warnOfNothing(info, iteration)
    warnOfLongPrompts(info, iteration)
    warnOfMedia(dropped, iteration)
  }

  /** A rollout without any advantage changes no weight. It is told each time. */
  function warnOfNothing({ drops }: ExperienceBatch['info'], iteration: number): void {
    const reasons = Object.entries(drops).map(([reason, count]) => `${count} ${reason}`)
    const message = `iteration ${iteration + 1}: no sample to train on (${reasons.join(', ')}); logs/skipped.jsonl lists them`
    run.event('warning', { message })
    progress.warn(message)
  }

  function warnOfLongPrompts({ promptsCut, promptsLeftOut }: ExperienceBatch['info'], iteration: number): void {
    if (promptsCut + promptsLeftOut === 0) return
    const message = `iteration ${iteration + 1}: prompts longer than promptMaxLen (${promptMaxLen} tokens): ${promptsCut} cut, ${promptsLeftOut} skipped`
    run.event('warning', { message })
    if (!longPromptsTold) progress.note(`${message}; the metrics prompts/cut and prompts/left_out count them`)
    longPromptsTold = true
  }

  function warnOfMedia(dropped: ExperienceBatch['dropped'], iteration: number): void {
    const bad = dropped.filter(({ reason }) => reason === 'media')
    if (bad.length === 0) return
    const what = bad.length === 1 ? 'a prompt has' : `${bad.length} prompts have`
    const message = `iteration ${iteration + 1}: ${what} images or videos that cannot be used, and others take their place: ${bad[0]!.message}`
    run.event('warning', { message })
    if (!mediaTold) progress.warn(`${message}; logs/skipped.jsonl lists them`)
    mediaTold = true
  }
}
