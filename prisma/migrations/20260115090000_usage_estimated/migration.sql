-- Usage of answers that were cut off while their model reasoned out of sight.
ALTER TYPE "usage_source" ADD VALUE 'estimated';
