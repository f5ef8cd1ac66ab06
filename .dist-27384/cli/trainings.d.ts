/** The kinds of training there are, as commands see them. */
import type { z } from 'zod';
import { type PreferenceConfig, type RewardModelConfig, type RlConfig, type SftConfig } from '../train/index.js';
import type { Training } from './train-command.js';
export declare const sftTraining: Training<SftConfig>;
export declare const rewardTraining: Training<RewardModelConfig>;
export declare const dpoTraining: Training<PreferenceConfig>;
export declare const rlTraining: Training<RlConfig>;
/** By the name that is typed. */
export declare const trainings: Readonly<Record<string, Pick<Training<unknown>, 'schema' | 'example' | 'resolve'>>>;
export declare const configSchemas: Readonly<Record<string, z.ZodObject>>;
