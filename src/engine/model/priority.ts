/** How much a run counts beside others: it has the workers by its weight. Alone it has all of them. */
const weights = { high: 4, normal: 1, low: 0.25 } as const;

export const priorities = ["high", "normal", "low"] as const;
export type Priority = (typeof priorities)[number];

export const weightOf = (priority: Priority = "normal"): number => weights[priority];
