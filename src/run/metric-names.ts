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
  metric('loss/train', 'nats', "the step's training loss, as it is differentiated"),
  metric('loss/validation', 'nats', 'the same loss over the held-out rows'),
  metric('loss/ptx', 'nats', 'the language-model loss of the supervised rows mixed into the update'),
  metric('validation/perplexity', '', "e to the power of the held-out rows' mean loss per trained token"),
  metric('validation/accuracy', 'share', 'held-out pairs of which the chosen response scores higher'),
  metric(
    'validation/calibration',
    'share',
    'expected calibration error: how far the predicted chance that the chosen response wins lies from how often it does',
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
  metric('reward/metric/<name>', '', "mean of one of the rewards' own metrics, over the samples that have it"),
  metric('reward/accuracy', 'share', 'training pairs of which the chosen response scores higher'),
  metric('reward/margin', '', 'mean score of chosen responses minus that of rejected ones'),
  metric('reward/center', '', 'mean of the chosen and rejected scores together, which centring pulls to zero'),

  metric('kl/mean', 'nats', 'mean per-token estimate of how far the policy is from the reference'),
  metric('kl/coef', '', 'coefficient of the KL penalty at this step'),
  metric('kl/loss', 'nats', 'the KL term of the loss, where KL is a loss'),
  metric('entropy/mean', 'nats', "mean entropy of the policy's next-token distribution over response tokens"),

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
    'optimiser steps of this iteration; fewer than planned where KL stopped the update early',
  ),
  metric('policy/importance_mean', '', 'mean importance weight between trainer and engine, after truncation'),
  metric('policy/importance_truncated', 'share', 'response tokens whose importance weight was truncated'),
  metric(
    'policy/tokens_kept',
    'share',
    'response tokens that take part in the loss, where only those of high entropy do',
  ),
  metric('advantage/mean', '', 'mean advantage over response tokens'),
  metric('advantage/std', '', 'its standard deviation'),
  metric('value/loss', '', "the critic's loss"),
  metric('value/clip', 'share', 'tokens whose value update was clipped'),
  metric('value/mean', '', "mean of the critic's predictions"),
  metric(
    'value/explained_variance',
    'share',
    'variance of the returns that the critic explains: 1 all, 0 none, below 0 worse than a constant',
  ),

  metric('preference/margin', '', "mean difference between the chosen and the rejected response's implicit rewards"),
  metric('preference/accuracy', 'share', 'pairs of which the chosen response has the higher implicit reward'),
  metric('preference/chosen_reward', '', 'mean implicit reward of chosen (desirable) responses'),
  metric('preference/rejected_reward', '', 'mean implicit reward of rejected (undesirable) responses'),
  metric('preference/chosen_logprob', 'nats', 'mean log-probability of chosen responses'),
  metric('preference/rejected_logprob', 'nats', 'mean log-probability of rejected responses'),
  metric('preference/kl', 'nats', "kto's estimate of the KL to the reference, its baseline"),

  metric('grad/norm', '', 'norm of the gradient before clipping'),
  metric('grad/critic_norm', '', "norm of the critic's gradient before clipping"),
  metric(
    'weights/changed',
    'share',
    '16-bit weights that the optimiser step changed; far below 0.001 the model stays what it was',
  ),
  metric('weights/critic_changed', 'share', "the same of the critic's weights"),
  metric('grad/loss_scale', '', 'float16: what the loss is multiplied with, so that small gradients do not vanish'),
  metric('grad/overflows', '', 'float16: how often the step was computed again with half the loss scale'),
  metric('lr', '', 'learning rate'),
  metric('lr/critic', '', "the critic's learning rate"),

  metric('length/mean', 'tokens', 'mean length of responses'),
  metric('length/max', 'tokens', 'the longest response'),
  metric('length/prompt', 'tokens', 'mean length of prompts'),
  metric('length/truncated', 'share', 'responses that ended at the length limit'),
  metric('prompts/cut', 'prompts', 'prompts of the iteration that were cut to `promptMaxLen`'),
  metric('prompts/left_out', 'prompts', 'prompts of the iteration that were left out, longer than `promptMaxLen`'),
  metric('groups/zero_variance', 'share', 'groups whose samples all have the same reward, and so no advantage'),
  metric('groups/rounds', '', 'sampling rounds that dynamic sampling needed'),
  metric('samples/trained', 'samples', 'samples the iteration trained on'),
  metric('samples/reused', 'samples', 'samples taken from the journal of an interrupted iteration'),
  metric('drops/<reason>', 'samples', 'samples left out for this reason'),
  metric('gap/mean', 'nats', "mean distance between the engine's and the trainer's log-probability of the same token"),
  metric('gap/max', 'nats', 'the largest such distance'),
  metric(
    'staleness/mean',
    'steps',
    'mean number of optimiser steps between the policy that sampled and the one updated',
  ),

  metric('data/epoch', 'epochs', 'how often the data has been gone through, with the fraction of the current time'),
  metric('data/tokens', 'tokens', 'tokens of the step, prompts included'),
  metric('data/trained_tokens', 'tokens', 'tokens of the step that the loss is over'),
  metric('data/examples', 'examples', 'examples of the step'),
  metric('data/truncated', 'rows', 'rows cut to the length limit so far'),
  metric('data/dropped', 'rows', 'rows left out so far because they were over the length limit'),
  metric('speed/tokens_per_second', 'tokens/s', 'tokens of the step over its wall-clock time'),
  metric('seconds/<stage>', 's', 'wall-clock time of one stage of the step; `seconds/total` is all of it'),
  metric('memory/rss', 'bytes', "the process's resident memory"),
  metric('memory/device', 'bytes', "memory in use on the model's device"),
  metric('memory/device_peak', 'bytes', 'the most that was in use on the device since the last step'),
]

const exact = new Set(metricNames.map(({ name }) => name).filter(name => !name.includes('<')))
const prefixes = metricNames
  .map(({ name }) => name)
  .filter(name => name.includes('<'))
  .map(name => name.replace(/<\w+>$/, ''))

/** Whether the table has this name, or a name it is an instance of. */
export function isMetricName(name: string): boolean {
  return exact.has(name) || prefixes.some(prefix => name.startsWith(prefix) && name.length > prefix.length)
}
