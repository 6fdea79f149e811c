/**
 * Prompts of everyday traffic in pairs: the first is easy, the second hard, and any engineer would say so. Written for
 * this test; nothing was trained on them.
 */
export const EVERYDAY_PAIRS: ReadonlyArray<readonly [easy: string, hard: string]> = [
  // Mathematics in few words.
  ['What is 15% of 80?', 'Prove that sqrt(2) is irrational.'],
  ['What is 7 times 8?', 'Prove that there are infinitely many primes congruent to 3 mod 4.'],
  ['Convert 5 miles to kilometers.', 'Evaluate the integral of 1/(1+x^4) from 0 to infinity.'],
  ['Round 3.14159 to two decimals.', 'Find all integer solutions of x^2 - 61y^2 = 1 with y below 10^10.'],
  ['How many minutes are in a day?', 'Show that every group of order 45 is abelian.'],
  [
    'What is the square root of 144?',
    'Is every continuous function on [0,1] differentiable somewhere? Justify.',
  ],
  // Code.
  [
    'Write a hello world program in Python.',
    'Implement a lock-free queue in C++ and prove that it is linearizable.',
  ],
  [
    'How do I print a list in Python?',
    'Design a distributed rate limiter that stays correct under clock skew and network partitions.',
  ],
  [
    'Rename the variable x to count: x = 1',
    'Refactor this recursive parser into an iterative one that handles left recursion and keeps source positions.',
  ],
  [
    'What does git status do?',
    'Why does this deadlock? Two threads take mutex A then B, a third takes B then A only when the cache misses. Propose a fix without a global lock.',
  ],
  [
    'Write a SQL query that counts the rows of the table users.',
    'Write a SQL query that finds, for every customer, the longest run of consecutive months with rising revenue, and explain how to index for it.',
  ],
  [
    'How do I center a div?',
    'Write a TypeScript type that parses a route such as "/users/:id/posts/:post?" into an object of its parameters, optional ones included.',
  ],
  [
    'What is the syntax of a for loop in Java?',
    'Our Postgres query got 100 times slower after an upgrade: analyze how planner statistics, correlated columns and a generic plan could each cause this, and how to tell them apart.',
  ],
  [
    'Fix the typo: pritn("hi")',
    'Find the race condition in an asynchronous cache that deduplicates requests and explain under which interleaving it returns a stale value.',
  ],
  // The easy one is as long or longer.
  [
    'Please write a friendly email to my landlord and ask him when the heating in the living room will be repaired, and thank him for the quick answer last week.',
    'Prove that the halting problem is undecidable.',
  ],
  [
    'Translate this to Spanish: The library is closed on Monday, but you can return your ledger in the box next to the door at any time.',
    'Derive the Euler-Lagrange equation from the principle of least action.',
  ],
  [
    'Summarize this in one sentence: The town built a new park last year. It has a playground, a pond and many trees. People like to walk there on Sundays, and children feed the ducks.',
    'Prove or disprove: every planar graph is 4-colorable without the four color theorem.',
  ],
  [
    'Correct the spelling: Yesterday I recieved you letter and was verry happy about the pictures of your new house and garden.',
    'Why is comparison sorting bounded below by n log n?',
  ],
  [
    'Tell me a short bedtime story about a little bear who cannot sleep and counts the stars until his mother comes.',
    'Implement a B-tree with concurrent inserts in Rust.',
  ],
  [
    'Give me a list of ten ideas for a birthday party for my daughter, who turns six and likes horses and painting.',
    'Explain how Raft handles a network partition.',
  ],
  [
    'Rewrite this in a more polite tone: Send me the report today, I have been waiting for it since Monday and my boss is asking.',
    'Solve the recurrence T(n) = 2T(n/2) + n / log n.',
  ],
  [
    'Hello, I hope you are well today. I just wanted to ask what a good name for a small brown dog would be.',
    'Compute the eigenvalues of the 3x3 matrix with 2 on the diagonal and 1 elsewhere.',
  ],
  [
    'Write a short message to my colleagues that there is cake in the kitchen because it is my birthday.',
    'Design a schema for multi-tenant billing with proration.',
  ],
  [
    'What is a good recipe for pancakes for four people, and can I use oat milk instead of milk?',
    'Find the bug: why does this mutex deadlock under contention?',
  ],
  [
    'Translate into German: Good morning, I would like two coffees and a piece of the apple cake, please.',
    'Beweise, dass die Wurzel aus 2 irrational ist.',
  ],
  // Prose and knowledge.
  ['Who wrote Hamlet?', 'How does the CAP theorem relate to the FLP impossibility result?'],
  [
    'What time zone is Berlin in?',
    'A patient on warfarin starts fluconazole and comes with an INR of 8 and no bleeding: what do you do, and why?',
  ],
  ['Thanks, that helped a lot!', 'Reconsider: can you construct a counterexample to your proof?'],
  // Agents.
  [
    'Open the file notes.txt.',
    'Look through the repository, find why the nightly build fails since Tuesday, fix it, add a regression test, and open a pull request that explains the cause.',
  ],
  [
    'Set a timer for ten minutes.',
    'Plan a trip of 9 days through four cities with a budget of 1,800 EUR: search trains and hotels, compare at least three variants, check that museums are open on the days, and book the cheapest that fits.',
  ],
]
