/**
 * Every metric a run may log: its unit and what it means. The docs' table is made from this one, and a run refuses a name
 * that is not here, so that a curve always has an explanation. `<...>` in a name stands for a name of the user's or the data's.
 */

export interface MetricName {
  readonly name: string
  readonly unit: string
  readonly meaning: string
}

const metric = (name: string, unit: string, meaning: string): MetricName => ({ name, unit, meaning })

export const metricNames: readonly MetricName[] = [
  metric('loss/train', 'nats', 'training loss of the step'),
  metric('loss/validation', 'nats', 'the same loss over the held-out rows'),
  metric('loss/ptx', 'nats', 'the language-model loss of the supervised rows mixed into the update'),
  metric('validation/perplexity', '', 'exp of the mean loss per trained token of the held-out rows'),
  metric('validation/accuracy', 'share', 'held-out pairs of which the chosen response scores higher'),
  metric(
    'validation/calibration',
    'share',
    'expected calibration error: mean difference between the predicted and the actual share of pairs that the chosen response wins',
  ),
  metric('validation/margin', '', 'mean difference between the chosen and the rejected response on held-out pairs'),
  metric('validation/reward', '', 'mean reward of responses to held-out prompts'),
  metric('validation/reward_std', '', 'standard deviation of those rewards'),
  metric('validation/length', 'tokens', 'mean length of responses to held-out prompts'),

  metric('reward/mean', '', "mean reward of the iteration's samples, before any shaping"),
  metric('reward/std', '', 'their standard deviation'),
  metric('reward/min', '', 'the lowest of them'),
  metric('reward/max', '', 'the highest of them'),
  metric('reward/shaped', '', 'mean reward after clipping, normalising, length and overlong penalties'),
  metric('reward/component/<source>', '', 'mean of what one reward source gave'),
  metric('reward/metric/<name>', '', 'mean of a metric of a reward source, over the samples that have it'),
  metric('reward/accuracy', 'share', 'training pairs of which the chosen response scores higher'),
  metric('reward/margin', '', 'mean score of chosen responses minus that of rejected ones'),
  metric('reward/center', '', 'mean of all chosen and rejected scores; centerCoef moves it to 0'),

  metric('episode/turns', '', 'mean turns of the policy in an episode'),
  metric('episode/calls', '', 'mean tool calls in an episode'),
  metric('episode/valid_calls', 'share', 'tool calls that could be run'),
  metric('episode/tool_seconds', 's', 'mean seconds in tools, per episode'),
  metric('episode/observed', 'tokens', 'mean tokens between turns: results of tools, messages, text of the template'),
  metric('episode/segments', '', 'mean sequences of an episode; above 1 where the chat template rewrote conversations'),
  metric(
    'episode/same_start',
    'share',
    'episodes that began as the first one of their prompt; below 1, the environment ignores its seed, and a group compares different tasks',
  ),

  metric('kl/mean', 'nats', 'mean per-token estimate of the KL from the policy to the reference'),
  metric('kl/coef', '', 'coefficient of the KL penalty at this step'),
  metric('kl/loss', 'nats', 'KL term of the loss, with useKlLoss'),
  metric('entropy/mean', 'nats', 'mean entropy of the next-token distribution of the policy over response tokens'),

  metric('policy/loss', '', 'the policy loss'),
  metric('policy/clip_low', 'share', 'response tokens whose ratio was clipped from below'),
  metric('policy/clip_high', 'share', 'response tokens whose ratio was clipped from above'),
  metric('policy/dual_clip', 'share', 'response tokens whose loss was bounded by the dual clip'),
  metric('policy/ratio_mean', '', 'mean probability ratio between the policy and the one that sampled'),
  metric('policy/ratio_max', '', 'the largest such ratio'),
  metric('policy/approx_kl', 'nats', 'estimated KL between the sampling policy and the one being updated'),
  metric(
    'policy/updates',
    'steps',
    'optimiser steps of this iteration; fewer than planned if targetKl stopped the updates early',
  ),
  metric('policy/importance_mean', '', 'mean importance weight between trainer and engine, after truncation'),
  metric('policy/importance_truncated', 'share', 'response tokens whose importance weight was truncated'),
  metric('policy/tokens_kept', 'share', 'share of response tokens in the policy loss, with highEntropyTokenRatio'),
  metric('advantage/mean', '', 'mean advantage over response tokens'),
  metric('advantage/std', '', 'its standard deviation'),
  metric('value/loss', '', 'loss of the critic'),
  metric('value/clip', 'share', 'tokens whose value update was clipped'),
  metric('value/mean', '', 'mean value that the critic predicts'),
  metric(
    'value/explained_variance',
    'share',
    'share of the variance of the returns that the critic explains: 1 all, 0 none, below 0 worse than a constant',
  ),

  metric(
    'preference/margin',
    '',
    'mean difference between the implicit rewards of the chosen and the rejected response',
  ),
  metric('preference/accuracy', 'share', 'pairs of which the chosen response has the higher implicit reward'),
  metric('preference/chosen_reward', '', 'mean implicit reward of chosen (desirable) responses'),
  metric('preference/rejected_reward', '', 'mean implicit reward of rejected (undesirable) responses'),
  metric('preference/chosen_logprob', 'nats', 'mean log-probability of chosen responses'),
  metric('preference/rejected_logprob', 'nats', 'mean log-probability of rejected responses'),
  metric('preference/kl', 'nats', 'baseline of kto: its estimate of the KL to the reference'),

  metric('grad/norm', '', 'norm of the gradient before clipping'),
  metric('grad/critic_norm', '', 'gradient norm of the critic before clipping'),
  metric(
    'weights/changed',
    'share',
    'share of 16-bit weights that the optimiser step changed; far below 0.001 the model hardly changes',
  ),
  metric('weights/critic_changed', 'share', 'the same for the weights of the critic'),
  metric('grad/loss_scale', '', 'float16: loss scale, so that small gradients do not underflow'),
  metric('grad/overflows', '', 'float16: how often the step was repeated with half the loss scale'),
  metric('lr', '', 'learning rate'),
  metric('lr/critic', '', 'learning rate of the critic'),

  metric('length/mean', 'tokens', 'mean length of responses'),
  metric('length/max', 'tokens', 'the longest response'),
  metric('length/prompt', 'tokens', 'mean length of prompts'),
  metric('length/truncated', 'share', 'responses that ended at the length limit'),
  metric('prompts/cut', 'prompts', 'prompts of the iteration that were cut to `promptMaxLen`'),
  metric(
    'prompts/left_out',
    'prompts',
    'prompts of the iteration that were skipped because they are longer than `promptMaxLen`',
  ),
  metric('groups/zero_variance', 'share', 'groups whose samples all have the same reward and therefore no advantage'),
  metric('groups/rounds', '', 'sampling rounds that dynamic sampling needed'),
  metric('samples/trained', 'samples', 'samples the iteration trained on'),
  metric('samples/reused', 'samples', 'samples taken from the journal of an interrupted iteration'),
  metric('drops/<reason>', 'samples', 'samples skipped for this reason'),
  metric('gap/mean', 'nats', 'mean difference between the log-probabilities of engine and trainer for the same token'),
  metric('gap/max', 'nats', 'the largest such distance'),
  metric(
    'staleness/mean',
    'steps',
    'mean number of optimiser steps between the policy that sampled and the one updated',
  ),
  metric(
    'rollouts/ahead',
    'rollouts',
    'with `maxStaleness`: rollouts that were ready when the iteration began; at 0 the training waits for samples',
  ),

  metric('data/epoch', 'epochs', 'passes over the data so far, as a fraction'),
  metric('data/tokens', 'tokens', 'tokens of the step, prompts included'),
  metric('data/trained_tokens', 'tokens', 'tokens of the step that the loss is over'),
  metric('data/examples', 'examples', 'examples of the step'),
  metric('data/truncated', 'rows', 'rows cut to the length limit so far'),
  metric('data/dropped', 'rows', 'rows dropped so far because they are too long'),
  metric('speed/tokens_per_second', 'tokens/s', 'tokens of the step per second of wall-clock time'),
  metric('seconds/<stage>', 's', 'wall-clock time of one stage of the step; `seconds/total` is all of it'),
  metric('memory/rss', 'bytes', 'resident memory of the process'),
  metric('memory/device', 'bytes', 'memory in use on the device of the model'),
  metric('memory/device_peak', 'bytes', 'the most that was in use on the device since the last step'),
]

const exact = new Map(metricNames.filter(({ name }) => !name.includes('<')).map(one => [one.name, one]))
const families = metricNames
  .filter(({ name }) => name.includes('<'))
  .map(one => ({ ...one, prefix: one.name.replace(/<\w+>$/, '') }))

function entryOf(name: string): MetricName | undefined {
  return exact.get(name) ?? families.find(({ prefix }) => name.startsWith(prefix) && name.length > prefix.length)
}

/** Whether the table has this name, or a name it is an instance of. */
export function isMetricName(name: string): boolean {
  return entryOf(name) !== undefined
}

/** The unit of a metric; empty where it has none, or is not in the table. */
export function unitOf(name: string): string {
  return entryOf(name)?.unit ?? ''
}
