/** Answers every question of `service.ts` over one index, and keeps the index up to date. */
import { setTimeout as wait } from 'node:timers/promises'
import { askMedia, askSample } from './detail.js'
import { askDistributions, askGroups } from './groups.js'
import { askSamples } from './query.js'
import { SampleIndex } from './sample-index.js'
import { selected } from './selected.js'
import type { QuestionName, Questions } from './service.js'
import { askTokens } from './tokens.js'

/** How old the index may be when a question is answered. */
const freshMs = 500
/** A question waits so long for what is new: a long journal is indexed while questions are answered. */
const patienceMs = 200
/** The first question, where an earlier look at the run left an index: its rows are shown, and pages are told of more. */
const firstPatienceMs = 20
/** A question whose rows became others on the way is asked again. */
const mostTries = 5

export class IndexAnswers {
  #refreshedAt = 0

  constructor(private readonly index: SampleIndex) {}

  static async open(directory: string): Promise<IndexAnswers> {
    return new IndexAnswers(await SampleIndex.open(directory))
  }

  async answer<N extends QuestionName>(name: N, asked: Questions[N]['asked']): Promise<Questions[N]['answer']> {
    await this.#refresh()
    for (let tries = 1; ; tries++) {
      await this.index.whole()
      const { generation } = this.index
      const isOld = (): boolean => generation !== this.index.generation && tries < mostTries
      try {
        const answer = (await this.#questions[name](asked as never)) as Questions[N]['answer']
        if (!isOld()) return answer
      } catch (error) {
        if (!isOld()) throw error
      }
    }
  }

  async close(): Promise<void> {
    await this.index.close()
  }

  readonly #questions: { [N in QuestionName]: (asked: Questions[N]['asked']) => unknown } = {
    progress: () => this.index.progress,
    samples: asked => askSamples(this.index, asked),
    sample: asked => askSample(this.index, asked),
    tokens: asked => askTokens(this.index, asked),
    media: asked => askMedia(this.index, asked),
    groups: asked => askGroups(this.index, asked),
    distributions: asked => askDistributions(this.index, asked),
    selected: asked => selected(this.index, asked),
  }

  async #refresh(): Promise<void> {
    if (performance.now() - this.#refreshedAt < freshMs) return
    const refreshed = this.index.refresh().then(() => {
      this.#refreshedAt = performance.now()
    })
    // Told by the next question that waits for it.
    refreshed.catch(() => {})
    const isFirst = this.#refreshedAt === 0 && this.index.visible > 0
    await Promise.race([refreshed, wait(isFirst ? firstPatienceMs : patienceMs, undefined, { ref: false })])
  }
}
