/** The defects (see defects.ts) that concern how experiences are made, and those that belong to rooms of their own. */
import type { Defect } from './defects.js'

const training = (reason: string): Defect => ({ reason: `belongs to training: ${reason}` })
const media = (reason: string): Defect => ({ reason: `belongs to images, videos and audio: ${reason}` })

export const makerDefects: Readonly<Record<string, Defect>> = {
  // Prompts and references were not repeated with their samples.
  'D-02': { tests: ['every field of an experience, and what the batch says of itself'] },
  // The packed path was broken from log-probabilities to advantages.
  'D-03': { tests: ['the same packed and padded'] },
  // One prompt that was too long ended the whole call.
  'D-05': { tests: ['promptMaxLen rejects that prompt alone, as an outcome'] },
  // FIRE could not run.
  'D-06': { tests: ['FIRE: the first token has its own temperature, all the way through'] },
  'D-08': training('losses and their options are a registry there; the schema here has none that nothing reads'),
  // The entropy mask never reached the trainer.
  'D-09': { tests: ['high-entropy tokens: the mask keeps the share that is asked for'] },
  'D-18': training('a loss that is not finite stops before the weights change'),
  'D-21': media('rope positions of media are three numbers per token there'),
  'D-22': media('all media of a request are sent'),
  'D-23': media('placeholders are never sampled, and counted per sample'),
  'D-24': media('media are lists by row'),
  // The last token of a truncated response was overwritten by an end that was never sampled.
  'D-26': { tests: ['what was sampled is what is trained: ids, lengths and ends are the engine’s'] },
  // Metrics of a whole batch hung on every sample.
  'D-27': { tests: ['every field of an experience, and what the batch says of itself'] },
  'D-28': { reason: 'experiences are plain arrays in this process; no part of them is on a device' },
  // Evaluation moved the running statistics.
  'D-29': {
    tests: ['running moments and the KL coefficient go on from where they were; an evaluation leaves them alone'],
  },
  'D-30': {
    tests: ['a config in YAML: experiences as lines of JSON, a summary, and lines that advantages reads again'],
  },
  'D-31': { tests: ['every field of an experience, and what the batch says of itself'] },
  'D-32': media('placeholders keep their places in the text'),
  'D-33': { reason: 'workers divide sequences, never one sequence; what is divided is really divided (dataParallel)' },
  // Padding was found by token values, so holes in masks moved it.
  'D-34': { reason: 'samples are ragged: there is no padding to remove' },
  'D-35': { tests: ['what was sampled is what is trained: ids, lengths and ends are the engine’s'] },
  'D-36': training('gradients are normalised over the global batch'),
  'D-37': training('each model has an optimiser of its own, with one global norm'),
  'D-38': training('step applies and drops all that was accumulated'),
  'D-39': { reason: 'every backend is one contract, TokenModel, with one contract test' },
  'D-40': { reason: 'an engine samples from merged copies that it makes itself' },
  'D-41': {
    reason: 'an engine in this process reads the weights where they are; there is no copy to forget a cast in',
  },
  'D-42': media('typed arrays of our own'),
  'D-43': training('what is frozen is matched by module, and freezing nothing is an error'),
  'D-44': training('an average of weights is not offered'),
  'D-45': training('mixed-in data has one typed constructor'),
  'D-46': { reason: 'there is one experience maker' },
  'D-47': training('there is one trainer for all modalities'),
  'D-48': { reason: 'the engine here has no version to compare; those over HTTP say what they can do' },
  'D-49': { reason: 'devices are an option of models; nothing here names one' },
  // Resuming lost controller and moments.
  'D-50': {
    tests: ['running moments and the KL coefficient go on from where they were; an evaluation leaves them alone'],
  },
  'D-52': { reason: 'the compiler refuses a name that is not imported' },
  'D-53': training('reward models read the last token, not an attention over padding'),
  'D-54': training('reward models have no probing layer'),
  'D-56': training('adapters of reward models are the same class as everywhere'),
  'D-57': training('a reward model has one head'),
  'D-58': training('metrics are means'),
  // Some options were read from one object, some from another.
  'D-60': { tests: ['%j'] },
  'D-62': { tests: ['the same split over two workers'] },
  'D-63': { reason: 'importing a room opens no device; the bridge is loaded when the first tensor is made' },
  'D-64': { reason: 'no option holds a key: keys come from the environment, and are never printed' },
  'D-65': { reason: 'nothing is printed by a library call; the command prints a summary' },
  'D-67': { reason: 'a batch is gathered over all workers before anything is counted' },
  'D-68': { tests: ['actor, critic, reference and reward model take turns on a card that holds two of them'] },
  'D-70': media('media are processed once per prompt'),
  'D-71': media('placeholders are never cut'),
  'D-73': training('the final model is exported, and the export says what was written'),
  'D-74': media('decided per request'),
  'D-75': media('audio is not offered'),
  'D-77': media('limits are checked before the run'),
  'D-78': { tests: ['the table of options is the schema', 'the code of the guide runs, from top to bottom'] },
  'D-79': { tests: ['every field of an experience, and what the batch says of itself'] },
  // Old log-probabilities at temperature 1 in half precision.
  'D-82': { tests: ['every field of an experience, and what the batch says of itself'] },
  'D-83': training('masks of conversations come from the chat template'),
  'D-84': training('packing has no labels to pad'),
  'D-86': training('a source that cannot be read is an error before the run'),
  'D-89': media('counts are part of the record'),
  'D-90': media('images of a caller are never changed'),
}
